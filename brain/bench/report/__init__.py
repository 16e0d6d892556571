"""``stormbrain bench report``: what was measured and simulated, as Markdown and as HTML."""
