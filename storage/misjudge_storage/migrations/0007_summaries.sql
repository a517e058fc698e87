-- When an episode took place, where its source says so: logs of production are read by day or week.
ALTER TABLE trajectories ADD COLUMN occurred_at TIMESTAMP WITH TIME ZONE;
