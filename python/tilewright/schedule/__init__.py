"""From decisions to a program with live and dead marks."""
