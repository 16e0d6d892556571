"""KATTS (Fischer et al. 2013): stream operators on variable bindings, wired by XML.

Triples come in with a time; operators take and give *bindings*, sets of variables with values.
``compiler`` turns an XML query into a streamparse topology; ``expression`` evaluates arithmetic
and conditions without ever calling ``eval``.
"""
