"""Separation of variables: a content that stays and a state that an equation moves."""
