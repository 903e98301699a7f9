"""What the package is measured by. The scripts run by themselves; ``paper`` is a command."""
