"""What a comparer is trained by: classes, given pairs, augmentations, few-shot tasks."""
