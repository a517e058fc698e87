-- The world of the support desk: Harbourline, an invented outdoor shop. All people, places and addresses are made up.
-- Amounts are whole cents, days are ISO dates, and today is always 2026-03-16.

CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), today TEXT NOT NULL);
CREATE TABLE customers (
    customer_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE,
    street TEXT NOT NULL,
    city TEXT NOT NULL,
    postcode TEXT NOT NULL,
    born_on TEXT NOT NULL,
    tier TEXT NOT NULL CHECK (tier IN ('standard', 'crew')),
    store_credit_cents INTEGER NOT NULL DEFAULT 0 CHECK (store_credit_cents >= 0)
);
CREATE TABLE products (
    sku TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    category TEXT NOT NULL,
    colour TEXT NOT NULL,
    size TEXT NOT NULL,
    weight_grams INTEGER NOT NULL,
    price_cents INTEGER NOT NULL,
    clearance INTEGER NOT NULL DEFAULT 0,
    fuel INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE inventory (
    sku TEXT PRIMARY KEY REFERENCES products,
    stock INTEGER NOT NULL CHECK (stock >= 0),
    restock_on TEXT
);
CREATE TABLE orders (
    order_id TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers,
    status TEXT NOT NULL
        CHECK (status IN ('placed', 'paid', 'packed', 'shipped', 'delivered', 'cancelled', 'returned')),
    placed_on TEXT NOT NULL,
    shipped_on TEXT,
    delivered_on TEXT,
    returned_on TEXT,
    street TEXT NOT NULL,
    city TEXT NOT NULL,
    postcode TEXT NOT NULL,
    delivery TEXT NOT NULL CHECK (delivery IN ('standard', 'express')),
    shipping_cents INTEGER NOT NULL,
    total_cents INTEGER NOT NULL
);
CREATE TABLE order_items (
    item_id INTEGER PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders,
    sku TEXT NOT NULL REFERENCES products,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    unit_cents INTEGER NOT NULL
);
CREATE TABLE returns (
    return_id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders,
    sku TEXT NOT NULL REFERENCES products,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    reason TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('label_sent', 'received')),
    created_at TEXT NOT NULL
);
CREATE TABLE trips (
    trip_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    price_cents INTEGER NOT NULL,
    minimum_age INTEGER NOT NULL,
    hours REAL NOT NULL
);
CREATE TABLE departures (
    departure_id TEXT PRIMARY KEY,
    trip_id TEXT NOT NULL REFERENCES trips,
    day TEXT NOT NULL,
    starts_at TEXT NOT NULL,
    capacity INTEGER NOT NULL
);
CREATE TABLE cabins (
    cabin_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    sleeps INTEGER NOT NULL,
    night_cents INTEGER NOT NULL,
    pets INTEGER NOT NULL
);
CREATE TABLE bookings (
    booking_id TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers,
    departure_id TEXT REFERENCES departures,
    cabin_id TEXT REFERENCES cabins,
    start_on TEXT NOT NULL,
    end_on TEXT NOT NULL,
    people INTEGER NOT NULL CHECK (people > 0),
    status TEXT NOT NULL CHECK (status IN ('confirmed', 'cancelled', 'completed')),
    total_cents INTEGER NOT NULL,
    deposit_cents INTEGER NOT NULL,
    CHECK ((departure_id IS NULL) <> (cabin_id IS NULL))
);
CREATE TABLE payments (
    payment_id TEXT PRIMARY KEY,
    order_id TEXT REFERENCES orders,
    booking_id TEXT REFERENCES bookings,
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    method TEXT NOT NULL CHECK (method IN ('card', 'store_credit')),
    created_at TEXT NOT NULL
);
CREATE TABLE refunds (
    refund_id TEXT PRIMARY KEY,
    order_id TEXT REFERENCES orders,
    booking_id TEXT REFERENCES bookings,
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    destination TEXT NOT NULL CHECK (destination IN ('original', 'store_credit')),
    reason TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE tickets (
    ticket_id TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers,
    order_id TEXT REFERENCES orders,
    booking_id TEXT REFERENCES bookings,
    topic TEXT NOT NULL,
    text TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'closed')),
    escalated INTEGER NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE policies (topic TEXT PRIMARY KEY, text TEXT NOT NULL);

INSERT INTO clock (id, today) VALUES
    (1, '2026-03-16');

INSERT INTO customers (customer_id, name, email, street, city, postcode, born_on, tier, store_credit_cents) VALUES
    ('C-101', 'Nora Whitfield', 'nora.whitfield@example.com', '12 Gull Lane', 'Port Marlow', '41020', '1986-05-02', 'standard', 0),
    ('C-102', 'Owen Castellan', 'owen.castellan@example.com', '3 Ropewalk', 'Port Marlow', '41022', '1979-11-19', 'standard', 2500),
    ('C-103', 'Priya Anand', 'priya.anand@example.com', '77 Millrace Road', 'Elder Ford', '42310', '1991-07-30', 'crew', 0),
    ('C-104', '林晓雨', 'lin.xiaoyu@example.com', '5 Lantern Street', 'Westhaven', '43005', '1994-02-11', 'standard', 0),
    ('C-105', 'Marcus Bell', 'marcus.bell@example.com', '18 Foundry Yard', 'Elder Ford', '42314', '1972-08-23', 'standard', 0),
    ('C-106', '陈志远', 'chen.zhiyuan@example.com', '40 Harbour View', 'Port Marlow', '41025', '1988-12-05', 'crew', 1000),
    ('C-107', 'Ines Duarte', 'ines.duarte@example.com', '9 Orchard Steps', 'Tarn Hill', '44112', '1983-03-27', 'standard', 0),
    ('C-108', 'Tobias Lindholm', 'tobias.lindholm@example.com', '26 Quarry Bank', 'Tarn Hill', '44118', '1990-10-14', 'crew', 0),
    ('C-109', 'Grace Adeyemi', 'grace.adeyemi@example.com', '61 Chapel Green', 'Westhaven', '43011', '1997-01-08', 'standard', 0),
    ('C-110', '王思琪', 'wang.siqi@example.com', '14 Cooper Court', 'Westhaven', '43016', '1999-06-21', 'standard', 3000),
    ('C-111', 'Hugo Renner', 'hugo.renner@example.com', '2 Beacon Terrace', 'Port Marlow', '41029', '1968-09-09', 'standard', 0),
    ('C-112', 'Maya Sutherland', 'maya.sutherland@example.com', '33 Weir Close', 'Elder Ford', '42319', '1985-04-16', 'standard', 0),
    ('C-113', '周明', 'zhou.ming@example.com', '8 Tidewater Row', 'Port Marlow', '41033', '1981-12-30', 'standard', 0),
    ('C-114', 'Leo Whitfield', 'leo.whitfield@example.com', '12 Gull Lane', 'Port Marlow', '41020', '2010-03-03', 'standard', 0),
    ('C-115', 'Marcus Bell', 'marcus.b@example.com', '50 Juniper Way', 'Tarn Hill', '44120', '1995-05-25', 'standard', 1500);

INSERT INTO products (sku, name, category, colour, size, weight_grams, price_cents, clearance, fuel) VALUES
    ('TNT-2G', 'Skerry 2 tent', 'tents', 'green', '2 people', 1900, 18900, 0, 0),
    ('TNT-2O', 'Skerry 2 tent', 'tents', 'orange', '2 people', 1900, 18900, 0, 0),
    ('TNT-4G', 'Skerry 4 tent', 'tents', 'green', '4 people', 3400, 27900, 0, 0),
    ('TRP-3G', 'Lee tarp', 'tents', 'grey', '3 x 3 m', 780, 6450, 0, 0),
    ('BAG-0R', 'Tern 0 sleeping bag', 'sleeping', 'red', 'regular', 1080, 13900, 0, 0),
    ('BAG-0L', 'Tern 0 sleeping bag', 'sleeping', 'red', 'long', 1150, 14900, 0, 0),
    ('BAG-8R', 'Plover 8 sleeping bag', 'sleeping', 'blue', 'regular', 690, 7990, 0, 0),
    ('MAT-RY', 'Drift mat', 'sleeping', 'yellow', 'regular', 430, 6800, 0, 0),
    ('MAT-WY', 'Drift mat', 'sleeping', 'yellow', 'wide', 610, 8400, 0, 0),
    ('PCK-45B', 'Cairn 45 pack', 'packs', 'blue', '45 l', 1390, 12950, 0, 0),
    ('PCK-45G', 'Cairn 45 pack', 'packs', 'green', '45 l', 1390, 12950, 0, 0),
    ('PCK-28G', 'Cairn 28 pack', 'packs', 'grey', '28 l', 820, 8900, 0, 0),
    ('BTS-41', 'Reef boots', 'footwear', 'brown', '41', 1180, 15400, 0, 0),
    ('BTS-42', 'Reef boots', 'footwear', 'brown', '42', 1210, 15400, 0, 0),
    ('BTS-43', 'Reef boots', 'footwear', 'brown', '43', 1240, 15400, 0, 0),
    ('BTS-44', 'Reef boots', 'footwear', 'brown', '44', 1270, 15400, 0, 0),
    ('JKT-MN', 'Squall jacket', 'clothing', 'navy', 'M', 340, 11900, 0, 0),
    ('JKT-LN', 'Squall jacket', 'clothing', 'navy', 'L', 360, 11900, 0, 0),
    ('JKT-LR', 'Squall jacket', 'clothing', 'red', 'L', 360, 7900, 1, 0),
    ('STV-1S', 'Ember stove', 'cooking', 'steel', 'one size', 95, 5400, 0, 0),
    ('FUL-230', 'Gas canister', 'cooking', 'blue', '230 g', 380, 850, 0, 1),
    ('LMP-1B', 'Beacon headlamp', 'lights', 'black', 'one size', 86, 3990, 0, 0),
    ('FLT-1W', 'Clear water filter', 'cooking', 'white', 'one size', 110, 4400, 0, 0),
    ('DRY-20', 'Dry bag', 'packs', 'yellow', '20 l', 160, 1950, 0, 0),
    ('POL-2S', 'Trek poles', 'walking', 'silver', 'pair', 480, 5900, 0, 0);

INSERT INTO inventory (sku, stock, restock_on) VALUES
    ('TNT-2G', 7, NULL),
    ('TNT-2O', 0, '2026-04-02'),
    ('TNT-4G', 3, NULL),
    ('TRP-3G', 12, NULL),
    ('BAG-0R', 9, NULL),
    ('BAG-0L', 5, NULL),
    ('BAG-8R', 14, NULL),
    ('MAT-RY', 11, NULL),
    ('MAT-WY', 4, NULL),
    ('PCK-45B', 6, NULL),
    ('PCK-45G', 2, NULL),
    ('PCK-28G', 10, NULL),
    ('BTS-41', 3, NULL),
    ('BTS-42', 4, NULL),
    ('BTS-43', 0, '2026-03-27'),
    ('BTS-44', 2, NULL),
    ('JKT-MN', 8, NULL),
    ('JKT-LN', 2, NULL),
    ('JKT-LR', 5, NULL),
    ('STV-1S', 13, NULL),
    ('FUL-230', 60, NULL),
    ('LMP-1B', 20, NULL),
    ('FLT-1W', 0, '2026-03-23'),
    ('DRY-20', 25, NULL),
    ('POL-2S', 6, NULL);

INSERT INTO orders (order_id, customer_id, status, placed_on, shipped_on, delivered_on, returned_on, street, city, postcode, delivery, shipping_cents, total_cents) VALUES
    ('O-2001', 'C-101', 'delivered', '2026-02-20', '2026-02-23', '2026-02-26', NULL, '12 Gull Lane', 'Port Marlow', '41020', 'standard', 0, 18900),
    ('O-2002', 'C-101', 'paid', '2026-03-14', NULL, NULL, NULL, '12 Gull Lane', 'Port Marlow', '41020', 'standard', 0, 17590),
    ('O-2003', 'C-102', 'shipped', '2026-03-11', '2026-03-13', NULL, NULL, '3 Ropewalk', 'Port Marlow', '41022', 'standard', 0, 15400),
    ('O-2004', 'C-102', 'delivered', '2026-01-14', '2026-01-16', '2026-01-20', NULL, '3 Ropewalk', 'Port Marlow', '41022', 'standard', 0, 11900),
    ('O-2005', 'C-103', 'packed', '2026-03-13', NULL, NULL, NULL, '77 Millrace Road', 'Elder Ford', '42310', 'express', 1400, 14350),
    ('O-2006', 'C-103', 'delivered', '2026-02-04', '2026-02-06', '2026-02-10', NULL, '77 Millrace Road', 'Elder Ford', '42310', 'standard', 0, 13900),
    ('O-2007', 'C-104', 'paid', '2026-03-15', NULL, NULL, NULL, '5 Lantern Street', 'Westhaven', '43005', 'standard', 0, 15400),
    ('O-2008', 'C-104', 'delivered', '2026-02-28', '2026-03-02', '2026-03-05', NULL, '5 Lantern Street', 'Westhaven', '43005', 'standard', 600, 7700),
    ('O-2009', 'C-105', 'placed', '2026-03-15', NULL, NULL, NULL, '18 Foundry Yard', 'Elder Ford', '42314', 'standard', 0, 27900),
    ('O-2010', 'C-105', 'returned', '2026-02-18', '2026-02-20', '2026-02-24', '2026-03-12', '18 Foundry Yard', 'Elder Ford', '42314', 'standard', 0, 8900),
    ('O-2011', 'C-106', 'delivered', '2026-03-04', '2026-03-06', '2026-03-09', NULL, '40 Harbour View', 'Port Marlow', '41025', 'standard', 0, 7900),
    ('O-2012', 'C-106', 'paid', '2026-03-14', NULL, NULL, NULL, '40 Harbour View', 'Port Marlow', '41025', 'standard', 0, 8400),
    ('O-2013', 'C-107', 'returned', '2026-02-20', '2026-02-23', '2026-02-27', '2026-03-13', '9 Orchard Steps', 'Tarn Hill', '44112', 'standard', 0, 27900),
    ('O-2014', 'C-107', 'shipped', '2026-03-02', '2026-03-04', NULL, NULL, '9 Orchard Steps', 'Tarn Hill', '44112', 'standard', 0, 7990),
    ('O-2015', 'C-108', 'paid', '2026-03-15', NULL, NULL, NULL, '26 Quarry Bank', 'Tarn Hill', '44118', 'standard', 0, 27850),
    ('O-2016', 'C-108', 'cancelled', '2026-03-01', NULL, NULL, NULL, '26 Quarry Bank', 'Tarn Hill', '44118', 'standard', 600, 7400),
    ('O-2017', 'C-109', 'delivered', '2026-03-08', '2026-03-09', '2026-03-12', NULL, '61 Chapel Green', 'Westhaven', '43011', 'standard', 0, 7980),
    ('O-2018', 'C-109', 'packed', '2026-03-14', NULL, NULL, NULL, '61 Chapel Green', 'Westhaven', '43011', 'standard', 600, 6450),
    ('O-2019', 'C-110', 'paid', '2026-03-16', NULL, NULL, NULL, '14 Cooper Court', 'Westhaven', '43016', 'standard', 0, 11900),
    ('O-2020', 'C-110', 'delivered', '2025-05-04', '2025-05-06', '2025-05-10', NULL, '14 Cooper Court', 'Westhaven', '43016', 'standard', 0, 12950),
    ('O-2021', 'C-111', 'delivered', '2026-02-26', '2026-02-27', '2026-03-03', NULL, '2 Beacon Terrace', 'Port Marlow', '41029', 'standard', 0, 15400),
    ('O-2022', 'C-111', 'paid', '2026-03-13', NULL, NULL, NULL, '2 Beacon Terrace', 'Port Marlow', '41029', 'standard', 600, 6500),
    ('O-2023', 'C-112', 'paid', '2026-03-15', NULL, NULL, NULL, '33 Weir Close', 'Elder Ford', '42319', 'standard', 0, 8800),
    ('O-2024', 'C-112', 'cancelled', '2026-03-05', NULL, NULL, NULL, '33 Weir Close', 'Elder Ford', '42319', 'standard', 600, 5000),
    ('O-2025', 'C-113', 'delivered', '2026-03-06', '2026-03-09', '2026-03-11', NULL, '8 Tidewater Row', 'Port Marlow', '41033', 'standard', 0, 15980),
    ('O-2026', 'C-113', 'paid', '2026-03-12', NULL, NULL, NULL, '8 Tidewater Row', 'Port Marlow', '41033', 'standard', 0, 18900),
    ('O-2027', 'C-115', 'paid', '2026-03-14', NULL, NULL, NULL, '50 Juniper Way', 'Tarn Hill', '44120', 'standard', 0, 8900),
    ('O-2028', 'C-115', 'delivered', '2026-02-09', '2026-02-11', '2026-02-14', NULL, '50 Juniper Way', 'Tarn Hill', '44120', 'standard', 0, 8400),
    ('O-2029', 'C-114', 'delivered', '2026-03-03', '2026-03-04', '2026-03-07', NULL, '12 Gull Lane', 'Port Marlow', '41020', 'standard', 600, 2550),
    ('O-2030', 'C-108', 'returned', '2026-02-10', '2026-02-12', '2026-02-16', '2026-03-06', '26 Quarry Bank', 'Tarn Hill', '44118', 'standard', 0, 15400);

INSERT INTO order_items (item_id, order_id, sku, quantity, unit_cents) VALUES
    (1, 'O-2001', 'TNT-2G', 1, 18900),
    (2, 'O-2002', 'MAT-RY', 2, 6800),
    (3, 'O-2002', 'LMP-1B', 1, 3990),
    (4, 'O-2003', 'BTS-42', 1, 15400),
    (5, 'O-2004', 'JKT-MN', 1, 11900),
    (6, 'O-2005', 'PCK-45B', 1, 12950),
    (7, 'O-2006', 'BAG-0R', 1, 13900),
    (8, 'O-2007', 'BTS-41', 1, 15400),
    (9, 'O-2008', 'STV-1S', 1, 5400),
    (10, 'O-2008', 'FUL-230', 2, 850),
    (11, 'O-2009', 'TNT-4G', 1, 27900),
    (12, 'O-2010', 'PCK-28G', 1, 8900),
    (13, 'O-2011', 'JKT-LR', 1, 7900),
    (14, 'O-2012', 'TRP-3G', 1, 6450),
    (15, 'O-2012', 'DRY-20', 1, 1950),
    (16, 'O-2013', 'TNT-4G', 1, 27900),
    (17, 'O-2014', 'BAG-8R', 1, 7990),
    (18, 'O-2015', 'PCK-45G', 1, 12950),
    (19, 'O-2015', 'BAG-0L', 1, 14900),
    (20, 'O-2016', 'MAT-RY', 1, 6800),
    (21, 'O-2017', 'LMP-1B', 2, 3990),
    (22, 'O-2018', 'DRY-20', 3, 1950),
    (23, 'O-2019', 'JKT-MN', 1, 11900),
    (24, 'O-2020', 'PCK-45B', 1, 12950),
    (25, 'O-2021', 'BTS-44', 1, 15400),
    (26, 'O-2022', 'POL-2S', 1, 5900),
    (27, 'O-2023', 'STV-1S', 1, 5400),
    (28, 'O-2023', 'FUL-230', 4, 850),
    (29, 'O-2024', 'FLT-1W', 1, 4400),
    (30, 'O-2025', 'BAG-8R', 2, 7990),
    (31, 'O-2026', 'TNT-2O', 1, 18900),
    (32, 'O-2027', 'PCK-28G', 1, 8900),
    (33, 'O-2028', 'MAT-WY', 1, 8400),
    (34, 'O-2029', 'DRY-20', 1, 1950),
    (35, 'O-2030', 'BTS-43', 1, 15400);

INSERT INTO returns (return_id, order_id, sku, quantity, reason, status, created_at) VALUES
    ('X-801', 'O-2010', 'PCK-28G', 1, 'unwanted', 'received', '2026-03-04'),
    ('X-802', 'O-2013', 'TNT-4G', 1, 'unwanted', 'received', '2026-03-05'),
    ('X-803', 'O-2030', 'BTS-43', 1, 'wrong_size', 'received', '2026-02-25');

INSERT INTO trips (trip_id, name, price_cents, minimum_age, hours) VALUES
    ('T-KAYAK', 'Harbour kayak day', 6500, 12, 5.0),
    ('T-CLIMB', 'Sea cliff climb', 9500, 14, 6.0),
    ('T-SEAL', 'Seal island boat', 4800, 5, 3.0),
    ('T-NIGHT', 'Night paddle', 7200, 16, 2.5);

INSERT INTO departures (departure_id, trip_id, day, starts_at, capacity) VALUES
    ('D-301', 'T-KAYAK', '2026-03-21', '09:00', 8),
    ('D-302', 'T-KAYAK', '2026-03-22', '09:00', 8),
    ('D-303', 'T-KAYAK', '2026-03-28', '09:00', 8),
    ('D-304', 'T-KAYAK', '2026-04-04', '09:00', 8),
    ('D-305', 'T-CLIMB', '2026-03-18', '08:30', 4),
    ('D-306', 'T-CLIMB', '2026-03-29', '08:30', 4),
    ('D-307', 'T-CLIMB', '2026-04-11', '08:30', 4),
    ('D-308', 'T-SEAL', '2026-03-17', '10:00', 12),
    ('D-309', 'T-SEAL', '2026-03-22', '10:00', 12),
    ('D-310', 'T-SEAL', '2026-03-29', '10:00', 12),
    ('D-311', 'T-NIGHT', '2026-03-27', '20:00', 6),
    ('D-312', 'T-NIGHT', '2026-04-10', '20:30', 6),
    ('D-313', 'T-SEAL', '2026-03-08', '10:00', 12),
    ('D-314', 'T-KAYAK', '2026-03-21', '14:00', 6);

INSERT INTO cabins (cabin_id, name, sleeps, night_cents, pets) VALUES
    ('CAB-1', 'Heron', 2, 9000, 0),
    ('CAB-2', 'Otter', 4, 13500, 1),
    ('CAB-3', 'Puffin', 4, 12000, 0),
    ('CAB-4', 'Lighthouse', 6, 21000, 1),
    ('CAB-5', 'Wren', 2, 7500, 1);

INSERT INTO bookings (booking_id, customer_id, departure_id, cabin_id, start_on, end_on, people, status, total_cents, deposit_cents) VALUES
    ('B-501', 'C-101', 'D-301', NULL, '2026-03-21', '2026-03-21', 2, 'confirmed', 13000, 0),
    ('B-502', 'C-102', NULL, 'CAB-2', '2026-04-03', '2026-04-06', 4, 'confirmed', 40500, 12150),
    ('B-503', 'C-103', 'D-303', NULL, '2026-03-28', '2026-03-28', 3, 'confirmed', 19500, 0),
    ('B-504', 'C-104', NULL, 'CAB-1', '2026-03-20', '2026-03-22', 2, 'confirmed', 18000, 5400),
    ('B-505', 'C-105', 'D-305', NULL, '2026-03-18', '2026-03-18', 1, 'confirmed', 9500, 0),
    ('B-506', 'C-106', 'D-309', NULL, '2026-03-22', '2026-03-22', 4, 'confirmed', 19200, 0),
    ('B-507', 'C-107', NULL, 'CAB-4', '2026-04-17', '2026-04-20', 6, 'confirmed', 63000, 18900),
    ('B-508', 'C-108', 'D-301', NULL, '2026-03-21', '2026-03-21', 4, 'confirmed', 26000, 0),
    ('B-509', 'C-109', 'D-306', NULL, '2026-03-29', '2026-03-29', 2, 'confirmed', 19000, 0),
    ('B-510', 'C-110', NULL, 'CAB-3', '2026-04-10', '2026-04-12', 3, 'confirmed', 24000, 7200),
    ('B-511', 'C-111', 'D-311', NULL, '2026-03-27', '2026-03-27', 2, 'confirmed', 14400, 0),
    ('B-512', 'C-112', 'D-313', NULL, '2026-03-08', '2026-03-08', 2, 'completed', 9600, 0),
    ('B-513', 'C-113', 'D-302', NULL, '2026-03-22', '2026-03-22', 2, 'confirmed', 13000, 0),
    ('B-514', 'C-115', NULL, 'CAB-5', '2026-03-27', '2026-03-29', 2, 'confirmed', 15000, 4500),
    ('B-515', 'C-105', NULL, 'CAB-3', '2026-03-20', '2026-03-23', 4, 'confirmed', 36000, 10800),
    ('B-516', 'C-109', 'D-308', NULL, '2026-03-17', '2026-03-17', 2, 'confirmed', 9600, 0),
    ('B-517', 'C-106', NULL, 'CAB-5', '2026-04-24', '2026-04-26', 2, 'cancelled', 15000, 4500),
    ('B-518', 'C-102', 'D-306', NULL, '2026-03-29', '2026-03-29', 1, 'confirmed', 9500, 0),
    ('B-519', 'C-112', 'D-311', NULL, '2026-03-27', '2026-03-27', 3, 'confirmed', 21600, 0),
    ('B-520', 'C-108', 'D-314', NULL, '2026-03-21', '2026-03-21', 5, 'confirmed', 32500, 0);

INSERT INTO payments (payment_id, order_id, booking_id, amount_cents, method, created_at) VALUES
    ('P-3001', 'O-2001', NULL, 18900, 'card', '2026-02-20'),
    ('P-3002', 'O-2002', NULL, 17590, 'card', '2026-03-14'),
    ('P-3003', 'O-2003', NULL, 15400, 'card', '2026-03-11'),
    ('P-3004', 'O-2004', NULL, 11900, 'card', '2026-01-14'),
    ('P-3005', 'O-2005', NULL, 14350, 'card', '2026-03-13'),
    ('P-3006', 'O-2006', NULL, 13900, 'card', '2026-02-04'),
    ('P-3007', 'O-2007', NULL, 15400, 'card', '2026-03-15'),
    ('P-3008', 'O-2008', NULL, 7700, 'card', '2026-02-28'),
    ('P-3009', 'O-2010', NULL, 8900, 'card', '2026-02-18'),
    ('P-3010', 'O-2011', NULL, 7900, 'card', '2026-03-04'),
    ('P-3011', 'O-2012', NULL, 8400, 'card', '2026-03-14'),
    ('P-3012', 'O-2013', NULL, 27900, 'card', '2026-02-20'),
    ('P-3013', 'O-2014', NULL, 7990, 'card', '2026-03-02'),
    ('P-3014', 'O-2015', NULL, 27850, 'card', '2026-03-15'),
    ('P-3015', 'O-2016', NULL, 7400, 'card', '2026-03-01'),
    ('P-3016', 'O-2017', NULL, 7980, 'card', '2026-03-08'),
    ('P-3017', 'O-2018', NULL, 6450, 'card', '2026-03-14'),
    ('P-3018', 'O-2019', NULL, 11900, 'card', '2026-03-16'),
    ('P-3019', 'O-2020', NULL, 12950, 'card', '2025-05-04'),
    ('P-3020', 'O-2021', NULL, 15400, 'card', '2026-02-26'),
    ('P-3021', 'O-2022', NULL, 6500, 'card', '2026-03-13'),
    ('P-3022', 'O-2023', NULL, 8800, 'card', '2026-03-15'),
    ('P-3023', 'O-2024', NULL, 5000, 'card', '2026-03-05'),
    ('P-3024', 'O-2025', NULL, 15980, 'card', '2026-03-06'),
    ('P-3025', 'O-2026', NULL, 18900, 'card', '2026-03-12'),
    ('P-3026', 'O-2027', NULL, 8900, 'card', '2026-03-14'),
    ('P-3027', 'O-2028', NULL, 8400, 'card', '2026-02-09'),
    ('P-3028', 'O-2029', NULL, 2550, 'store_credit', '2026-03-03'),
    ('P-3029', 'O-2030', NULL, 15400, 'card', '2026-02-10'),
    ('P-3030', NULL, 'B-501', 13000, 'card', '2026-02-27'),
    ('P-3031', NULL, 'B-502', 12150, 'card', '2026-02-20'),
    ('P-3032', NULL, 'B-503', 19500, 'card', '2026-03-02'),
    ('P-3033', NULL, 'B-504', 5400, 'card', '2026-02-14'),
    ('P-3034', NULL, 'B-505', 9500, 'card', '2026-03-01'),
    ('P-3035', NULL, 'B-506', 19200, 'card', '2026-03-04'),
    ('P-3036', NULL, 'B-507', 63000, 'card', '2026-01-30'),
    ('P-3037', NULL, 'B-508', 26000, 'card', '2026-03-05'),
    ('P-3038', NULL, 'B-509', 19000, 'card', '2026-03-06'),
    ('P-3039', NULL, 'B-510', 24000, 'card', '2026-02-25'),
    ('P-3040', NULL, 'B-511', 14400, 'card', '2026-03-03'),
    ('P-3041', NULL, 'B-512', 9600, 'card', '2026-02-22'),
    ('P-3042', NULL, 'B-513', 13000, 'card', '2026-03-07'),
    ('P-3043', NULL, 'B-514', 4500, 'card', '2026-03-01'),
    ('P-3044', NULL, 'B-515', 10800, 'card', '2026-02-12'),
    ('P-3045', NULL, 'B-516', 9600, 'card', '2026-03-10'),
    ('P-3046', NULL, 'B-517', 4500, 'card', '2026-02-01'),
    ('P-3047', NULL, 'B-518', 9500, 'card', '2026-03-09'),
    ('P-3048', NULL, 'B-519', 21600, 'card', '2026-03-11'),
    ('P-3049', NULL, 'B-520', 32500, 'card', '2026-03-12');

INSERT INTO refunds (refund_id, order_id, booking_id, amount_cents, destination, reason, created_at) VALUES
    ('R-601', 'O-2016', NULL, 7400, 'original', 'order cancelled', '2026-03-02'),
    ('R-602', 'O-2030', NULL, 10000, 'original', 'part refund, rest follows after inspection', '2026-03-07');

INSERT INTO tickets (ticket_id, customer_id, order_id, booking_id, topic, text, status, escalated, created_at) VALUES
    ('K-701', 'C-111', NULL, 'B-511', 'other', 'Asked whether wetsuits are included in the night paddle. Answered: yes.', 'closed', 0, '2026-03-04'),
    ('K-702', 'C-107', 'O-2014', NULL, 'delivery', 'Asked where the parcel is. Carrier has been asked to trace it.', 'open', 0, '2026-03-12'),
    ('K-703', 'C-108', 'O-2030', NULL, 'other', 'Inspection of the returned boots is done: unworn, the rest may be refunded.', 'open', 0, '2026-03-13');

INSERT INTO policies (topic, text) VALUES
    ('identity', 'Before you change anything or tell details of an account, order or booking, the customer proves who they are: with the e-mail address of the account, or with an order or booking number together with the postcode of the account. A name alone is never enough. Only the account holder may ask for changes.'),
    ('privacy', 'Never tell anyone details of another customer, not even to family, and do not say whether a person has an account with us.'),
    ('order_changes', 'Items, quantities, sizes and the delivery address of an order can be changed until it is packed, free of charge; shipping stays as it was charged. Once it is packed or shipped, nothing can be changed, the address included. The customer must agree to a new total before the change. If the order becomes more expensive, the difference is charged at once; if it becomes cheaper, refund the difference to the original payment.'),
    ('order_cancellation', 'An order that is placed or paid can be cancelled free of charge; refund all that was paid to the original payment. Once it is packed, it can still be cancelled, but 9.00 dollars for handling are kept from the refund. An order that is shipped or delivered cannot be cancelled, only returned. The customer must agree to the amount that they get back before you cancel.'),
    ('returns', 'Unused items can be returned within 30 days of delivery, crew members have 45 days. Start a return; the refund follows when the items have arrived (order status returned). Clearance items are refunded as store credit only. Gas canisters cannot be returned. Shipping is not refunded, except when a whole order comes back because it was wrong or faulty.'),
    ('refunds', 'Refund what the policies allow, to the original payment, except where a policy names store credit. A refund above 200.00 dollars needs a manager: do not issue it, not in parts either, but escalate with kind manager_approval and say that the answer takes two working days. Refunds to a card take five working days.'),
    ('damaged_items', 'An item that arrived damaged or wrong must be reported within 14 days of delivery. The customer chooses: the price of that item (not the shipping) back to the original payment, without sending it back if it costs at most 60.00 dollars, or a replacement through a ticket with topic damaged.'),
    ('warranty', 'Tents, packs and boots have a warranty of two years from delivery against faults of material and make; all else has one year. Wear, and damage by use, are not covered. Open a ticket with topic warranty; the workshop decides within ten working days. Do not refund or replace it yourself.'),
    ('delivery', 'Standard delivery costs 6.00 dollars, free from 75.00 dollars of goods, and arrives within 5 working days of shipping. Express costs 14.00 dollars and arrives the next working day. Orders with gas canisters go by standard delivery only. We do not deliver abroad.'),
    ('late_delivery', 'A parcel that is later than promised: open a ticket with topic delivery, if there is none yet, and give 10.00 dollars of store credit for that order, once. A parcel counts as lost ten working days after shipping; then refund it or send it again.'),
    ('price_match', 'Within 14 days of placing an order we refund the difference if another shop has the same item, colour and size in stock for less. Not for clearance items, and the shop must be named. Refund to the original payment, for one item per order line.'),
    ('trip_bookings', 'Day trips are paid in full when booked. Up to 8 people in one booking; larger groups need a ticket with topic group_booking. The account holder must be 18 or older to book. Each trip has a minimum age, and everyone under 16 goes with an adult of the same booking.'),
    ('trip_cancellation', 'Day trips: cancelled 7 days or more before the day, all is refunded; 3 to 6 days before, half; less than 3 days before, nothing. Trips that we call off are always refunded in full. The customer must agree to the amount that they get back before you cancel.'),
    ('cabin_bookings', 'Cabins: at least 2 nights. A deposit of 30 percent is charged when booked, the rest is paid on arrival. Arrival from 15:00, departure until 10:00. The account holder must be 18 or older to book.'),
    ('cabin_cancellation', 'The deposit of 30 percent is never refunded. What was paid beyond the deposit is refunded if the cabin is cancelled 14 days or more before arrival, and not later. The customer must agree to the amount that they get back before you cancel.'),
    ('booking_changes', 'A day trip can be moved, or its number of people changed, up to 7 days before its day; a cabin up to 14 days before arrival. Later than that nothing can be changed, only cancelled. A trip that becomes more expensive is charged at once; if it becomes cheaper, refund the difference. The deposit of a cabin stays as it is. The customer must agree to the new total first.'),
    ('pets', 'Dogs are welcome in the cabins Otter, Lighthouse and Wren, for 15.00 dollars a stay, paid on arrival. No pets on day trips.'),
    ('complaints', 'Say that you are sorry, find out what happened, and put right what the policies allow. If the customer still wants more, or asks for a manager, escalate with kind complaint. A manager answers within two working days. Promise nothing on their behalf.'),
    ('safety', 'Injuries, and gear that failed in a way that could hurt someone: escalate with kind safety at once, and ask the customer to stop using it. Do not discuss whose fault it is.'),
    ('store_credit', 'Store credit can pay for orders, not for bookings. It is never paid out as money and never moved to another account.');
