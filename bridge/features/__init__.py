"""What the bridge does for people: a folder for each feature."""
