"""What a published mean can mean."""
