"""From a plan and its constants to C: typed contexts, printed by templates that decide nothing."""
