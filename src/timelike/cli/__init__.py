"""Text → call."""
