"""Objectives that train a `DistanceNetwork`: classes, given pairs, augmentations, few-shot tasks."""
