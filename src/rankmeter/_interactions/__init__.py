"""What users did: how it is described, parted and recommended from."""
