-- How a label of a reviewer came about: the stream that its pair was drawn from, the inverse of the probability of that,
-- which side was shown first, and by which way it came in. All are null where a label was imported. `review` is the token
-- of the pair that was shown when a reviewer said this of its episode.
ALTER TABLE gold_labels ADD COLUMN stream VARCHAR;
ALTER TABLE gold_labels ADD COLUMN weight FLOAT;
ALTER TABLE gold_labels ADD COLUMN order_shown VARCHAR;
ALTER TABLE gold_labels ADD COLUMN came_by VARCHAR;
ALTER TABLE checks ADD COLUMN stream VARCHAR;
ALTER TABLE checks ADD COLUMN weight FLOAT;
ALTER TABLE checks ADD COLUMN review VARCHAR;

-- Pairs that were given to reviewers, so that two are asked about the same one only where that is wanted.
CREATE TABLE reviews (
    token VARCHAR NOT NULL,
    audit_id VARCHAR NOT NULL,
    pair_id VARCHAR NOT NULL,
    reviewer VARCHAR NOT NULL,
    stream VARCHAR NOT NULL,
    weight FLOAT,
    order_shown VARCHAR NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    PRIMARY KEY (token),
    FOREIGN KEY(audit_id, pair_id) REFERENCES pairs (audit_id, pair_id)
);

CREATE INDEX reviews_by_audit ON reviews (audit_id);
