"""Linear metrics over the vectors of an encoder: `Discriminant` from classes, `WhitenedCosine` without labels."""
