"""Models as JSON: plain to read, checked in full when loaded, never run as code."""
