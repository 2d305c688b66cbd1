"""Options that several commands share: where data come from, options of a method, and the file of a job."""
