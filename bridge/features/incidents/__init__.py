"""Incidents, posted where operators are (``BRIDGE_OPS_CHANNEL``): one message for each, edited until it's over."""
