"""What must be right for the loop to work, checked one by one, each with its fix."""
