"""Tilewright."""
