"""What goes wrong around a call, and how it is met: interruption."""
