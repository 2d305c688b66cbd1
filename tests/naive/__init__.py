"""Obvious slow twins of every compiled routine, as plain as the formula."""
