"""A study on its way: what of its plan is measured, what is still to be, and what stands in the way."""
