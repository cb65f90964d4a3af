// node message_server.mjs DATABASE PORT each|group: a Node server for /message, for msgr_benchmark.py.
//
// The database has awd's tables, and a message becomes awd's rows: the last identifier, the message, a push for each
// device. WAL and synchronous=FULL are set as in awd, so that a 200 is sent after an fsync. `each` commits every message
// by itself, as a server does that responds to each request where it arrives; `group` commits what arrived in a turn of
// the event loop in one transaction, and responds then.
import { createHmac, randomBytes, randomUUID, scryptSync } from "node:crypto";
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";

const [path, port, mode] = process.argv.slice(2);
const database = new DatabaseSync(path);
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
database.exec("PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 2000");

const begin = database.prepare("BEGIN IMMEDIATE");
const commit = database.prepare("COMMIT");
const rollback = database.prepare("ROLLBACK");
const addUser = database.prepare(
  "INSERT INTO msgr_users (username, password, created_at) VALUES (?, ?, ?)");
const addDevice = database.prepare(
  "INSERT INTO msgr_devices (device_id, username, bound_at) VALUES (?, ?, ?)");
const password = database.prepare("SELECT password FROM msgr_users WHERE username = ?");
const block = database.prepare("SELECT 1 FROM msgr_blocks WHERE username = ? AND blocked = ?");
const count = database.prepare(
  `UPDATE msgr_users SET messages = messages + 1, unread = unread + 1,
     last_id = CASE WHEN last_id < ?1 THEN ?1 ELSE last_id + 1 END
   WHERE username = ?2 RETURNING last_id, unread`);
const devices = database.prepare("SELECT device_id FROM msgr_devices WHERE username = ?");
const addMessage = database.prepare(
  `INSERT INTO msgr_messages (id, recipient, sender, text, sent_at, is_add_request)
   VALUES (?, ?, ?, ?, ?, 0)`);
const addPush = database.prepare(
  `INSERT INTO push_outbox (
     service, device, account, kind, address, push_id, content, urgency, position, created_at,
     expires_at, due_at, is_next)
   VALUES ('msgr', ?1, ?2, 0, ?1, ?3, ?4, 1, ?5, ?6, ?7, ?6,
     NOT EXISTS (SELECT 1 FROM push_outbox WHERE service = 'msgr' AND device = ?1))`);
count.setReadBigInts(true);

const week = 7 * 86_400_000;
// A sender's password is hashed once, before the measurement.
const cost = { N: 1024 };
const key = randomBytes(32);
const verified = new Map();

const proofOf = (name, given, stored) =>
  createHmac("sha256", key).update(`${name}\0${given}\0${stored}`).digest("base64");

function isVerified(name, given) {
  const stored = password.get(name)?.password;
  if (stored === undefined) return false;
  const proof = proofOf(name, given, stored);
  if (verified.has(proof)) return true;
  const [salt, hash] = stored.split(":");
  if (scryptSync(given, salt, 32, cost).toString("hex") !== hash) return false;
  verified.set(proof, true);
  return true;
}

function register({ Username, Password, DeviceID }) {
  const salt = randomBytes(16).toString("hex");
  const now = Date.now();
  const stored = `${salt}:${scryptSync(Password, salt, 32, cost).toString("hex")}`;
  addUser.run(Username, stored, now);
  verified.set(proofOf(Username, Password, stored), true);
  if (DeviceID) addDevice.run(DeviceID, Username, now);
  return [200, {}];
}

/** Stores a message within a transaction. */
function store({ UserFrom, Password, UserTo, Message }) {
  for (const field of [UserFrom, Password, UserTo, Message]) {
    if (typeof field !== "string" || field === "") return [400, { error: "a field is missing" }];
  }
  if (!isVerified(UserFrom, Password)) return [403, { error: "Forbidden" }];
  if (block.get(UserTo, UserFrom)) return [200, { Id: "0000000000000000" }];
  const now = Date.now();
  const row = count.get(BigInt(now) << 16n, UserTo);
  if (row === undefined) return [403, { error: "Forbidden" }];
  const id = row.last_id;
  addMessage.run(id, UserTo, UserFrom, Message, now);
  for (const { device_id } of devices.all(UserTo)) {
    const content = Buffer.from(`${id} ${row.unread} 0 - 0\n${UserFrom}\n\n\n${Message}`);
    addPush.run(
      Buffer.from(device_id), Buffer.from(UserTo), randomUUID(), content, id, now, now + week);
  }
  return [200, { Id: id.toString(16).padStart(16, "0") }];
}

function respond(response, [status, value]) {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body),
    "Cache-Control": "no-store",
  });
  response.end(body);
}

/** Stores some messages in one transaction, and responds once they are on disk. */
function storeAll(requests) {
  let results;
  try {
    begin.run();
    results = requests.map(({ fields }) => store(fields));
    commit.run();
  } catch {
    if (database.isTransaction) rollback.run();
    results = requests.map(() => [503, { error: "Service Unavailable" }]);
  }
  requests.forEach(({ response }, index) => respond(response, results[index]));
}

let waiting = [];

function take(fields, response) {
  if (mode === "each") return storeAll([{ fields, response }]);
  if (waiting.length === 0) {
    setImmediate(() => {
      const requests = waiting;
      waiting = [];
      storeAll(requests);
    });
  }
  waiting.push({ fields, response });
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    let fields;
    try {
      fields = JSON.parse(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
    } catch {
      return respond(response, [400, { error: "no JSON" }]);
    }
    if (request.url === "/message") take(fields, response);
    else if (request.url === "/register") respond(response, register(fields));
    else respond(response, [404, { error: "Not Found" }]);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(Number(port), "127.0.0.1");
process.on("SIGTERM", () => {
  server.closeAllConnections();
  server.close(() => database.close());
});
