"""Obvious slow references of every compiled routine, as plain as the formula."""
