CREATE TABLE orders (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    day date NOT NULL,
    country text NOT NULL,
    amount numeric(18, 2) NOT NULL
);
INSERT INTO orders (day, country, amount)
SELECT date '2020-01-01' + i % 30, (ARRAY['DE', 'PT', 'JP'])[i % 3 + 1], i * 0.25
FROM generate_series(1, 9000) AS i;
