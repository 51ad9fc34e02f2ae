"""Stories of real novels, measured."""
