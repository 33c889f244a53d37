"""Why two tools differ on the same data (`walk`), and which settings give a number (`search`)."""
