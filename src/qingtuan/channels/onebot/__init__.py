"""QQ, by the OneBot V11 protocol as NapCat speaks it."""
