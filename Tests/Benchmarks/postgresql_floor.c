// What PostgreSQL takes for the rows of messages alone: a bare client writes them in groups, each by one pipeline with BEGIN and
// COMMIT around it, and reads and decides nothing. The users are those that awd has made.
//
//     postgresql_floor CONNINFO msgr|pairs CONNECTIONS GROUP SECONDS
//
// It prints the number of messages per second, and the number of messages.
#include <arpa/inet.h>
#include <endian.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_STATEMENTS = 5, MOST_PARAMETERS = 12, DATA = 1024 };
enum { INT8 = 20, TEXT = 25, BYTEA = 17, INT8S = 1016, TEXTS = 1009, BYTEAS = 1001 };

// A statement as awd writes it, with the types of its parameters.
struct statement {
  const char *text;
  int count;
  Oid types[MOST_PARAMETERS];
};

static const struct statement msgr_statements[] = {
    {"UPDATE msgr_users u SET messages = r.messages, unread = r.unread, last_id = r.last, sent = r.sent, named = r.named, "
     "last_number = r.number FROM unnest($1, $2, $3, $4, $5, $6, $7) AS r (name, messages, unread, last, sent, named, number) "
     "WHERE u.username = r.name",
     7,
     {TEXTS, INT8S, INT8S, INT8S, INT8S, INT8S, INT8S}},
    {"INSERT INTO msgr_messages (recipient, id, sender, text, sent_at, is_add_request) "
     "SELECT m.recipient, m.id, m.sender, m.text, $1, 0 FROM unnest($2, $3, $4, $5) AS m (recipient, id, sender, text)",
     5,
     {INT8, TEXTS, INT8S, TEXTS, TEXTS}},
    {"INSERT INTO push_outbox (service, device, account, kind, address, push_id, content, urgency, position, created_at, "
     "expires_at, due_at, is_next) SELECT 'msgr', p.device, p.account, 0, p.address, p.push_id, p.content, 1, p.position, $1, "
     "$1 + 604800000, $1, p.is_next FROM unnest($2, $3, $4, $5, $6, $7, $8) AS p (device, account, address, push_id, content, "
     "position, is_next)",
     8,
     {INT8, BYTEAS, BYTEAS, BYTEAS, TEXTS, BYTEAS, INT8S, INT8S}},
};
static const struct statement pairs_statements[] = {
    {"INSERT INTO apptimist_contents (id, holders, sender, recipients, header, data) "
     "SELECT id, 1, sender, '', header, data FROM unnest($1, $2, $3, $4) AS m (id, sender, header, data)",
     4,
     {INT8S, INT8S, BYTEAS, BYTEAS}},
    {"INSERT INTO apptimist_entries (owner, position, kind, sender, size, content, message_id) "
     "SELECT owner, position, 0, sender, 1024, content, id FROM unnest($1, $2, $3, $4, $5) AS e (owner, position, sender, "
     "content, id)",
     5,
     {INT8S, INT8S, INT8S, INT8S, BYTEAS}},
    {"INSERT INTO apptimist_message_ids (owner, message_id, position) "
     "SELECT owner, id, position FROM unnest($1, $2, $3) AS m (owner, id, position)",
     3,
     {INT8S, BYTEAS, INT8S}},
    {"INSERT INTO apptimist_shares AS s (owner, sender, entries, bytes, oldest) "
     "SELECT owner, sender, 1, 1024, oldest FROM unnest($1, $2, $3) AS a (owner, sender, oldest) ON CONFLICT (owner, sender) "
     "DO UPDATE SET entries = s.entries + excluded.entries, bytes = s.bytes + excluded.bytes",
     3,
     {INT8S, INT8S, INT8S}},
    {"UPDATE apptimist_queues q SET last_position = m.last, entries = m.entries, bytes = m.bytes "
     "FROM unnest($1, $2, $3, $4) AS m (owner, last, entries, bytes) WHERE q.owner = m.owner",
     4,
     {INT8S, INT8S, INT8S, INT8S}},
};

// A parameter in PostgreSQL's binary format.
struct buffer {
  char *bytes;
  size_t count, room;
};

static void append(struct buffer *buffer, const void *bytes, size_t count) {
  if (buffer->count + count > buffer->room) {
    buffer->room = (buffer->count + count) * 2;
    buffer->bytes = realloc(buffer->bytes, buffer->room);
    if (!buffer->bytes) abort();
  }
  memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
}

static void append_int4(struct buffer *buffer, int32_t value) {
  uint32_t swapped = htonl((uint32_t)value);
  append(buffer, &swapped, sizeof swapped);
}

// Begins an array of so many elements of a type.
static void begin(struct buffer *buffer, Oid type, int count) {
  buffer->count = 0;
  append_int4(buffer, 1);
  append_int4(buffer, 0);
  append_int4(buffer, (int32_t)type);
  append_int4(buffer, count);
  append_int4(buffer, 1);
}

static void append_bytes(struct buffer *buffer, const void *bytes, size_t count) {
  append_int4(buffer, (int32_t)count);
  append(buffer, bytes, count);
}

static void append_number(struct buffer *buffer, int64_t value) {
  uint64_t swapped = htobe64((uint64_t)value);
  append_bytes(buffer, &swapped, sizeof swapped);
}

static void append_text(struct buffer *buffer, const char *text) { append_bytes(buffer, text, strlen(text)); }

static void set_number(struct buffer *buffer, int64_t value) {
  uint64_t swapped = htobe64((uint64_t)value);
  buffer->count = 0;
  append(buffer, &swapped, sizeof swapped);
}

static void fail(PGconn *connection) {
  fprintf(stderr, "postgresql_floor: %s", PQerrorMessage(connection));
  exit(1);
}

// Somebody who gets messages.
struct user {
  char name[128], device[128];
  int64_t number, last, count, bytes;
};

struct lane {
  pthread_t thread;
  PGconn *connection;
  struct user *users;
  int user_count, next, number;
  int64_t messages;
};

static const char *conninfo;
static int is_msgr, group, lane_count;
static double seconds;
static const struct statement *statements;
static int statement_count;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int64_t milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static PGresult *checked(PGconn *connection, PGresult *result) {
  ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC) fail(connection);
  return result;
}

// Connects, reads the lane's users, and prepares the statements.
static void open_lane(struct lane *lane) {
  lane->connection = PQconnectdb(conninfo);
  if (PQstatus(lane->connection) != CONNECTION_OK) fail(lane->connection);
  // As a lane of awd's.
  PQclear(checked(lane->connection, PQexec(lane->connection, "SET jit = off; SET enable_seqscan = off; "
                                                             "SET plan_cache_mode = force_generic_plan")));
  PGresult *rows = checked(
      lane->connection,
      PQexec(lane->connection,
             is_msgr ? "SELECT u.username, d.device_id, 0, u.last_id, u.messages, 0 FROM msgr_users u JOIN msgr_devices d "
                       "USING (username) WHERE u.username LIKE 'user%' ORDER BY 1"
                     : "SELECT '', '', owner, last_position, entries, bytes FROM apptimist_queues ORDER BY entries DESC LIMIT 64"));
  int count = PQntuples(rows);
  lane->users = calloc((size_t)count, sizeof *lane->users);
  if (!lane->users) abort();
  for (int row = lane->number; row < count; row += lane_count) {
    struct user *user = &lane->users[lane->user_count++];
    snprintf(user->name, sizeof user->name, "%s", PQgetvalue(rows, row, 0));
    snprintf(user->device, sizeof user->device, "%s", PQgetvalue(rows, row, 1));
    user->number = atoll(PQgetvalue(rows, row, 2));
    user->last = atoll(PQgetvalue(rows, row, 3));
    user->count = atoll(PQgetvalue(rows, row, 4));
    user->bytes = atoll(PQgetvalue(rows, row, 5));
  }
  PQclear(rows);
  if (lane->user_count < group) {
    fprintf(stderr, "postgresql_floor: a connection has %d users for groups of %d\n", lane->user_count, group);
    exit(1);
  }
  for (int index = 0; index < statement_count; index++) {
    char name[16];
    snprintf(name, sizeof name, "s%d", index);
    PQclear(checked(lane->connection, PQprepare(lane->connection, name, statements[index].text, statements[index].count,
                                                statements[index].types)));
  }
}

// The parameters of a group's messages, one for each user.
static Oid push_type(int column) {
  if (column > 5) return INT8;
  return column == 4 ? TEXT : BYTEA;
}

static void fill_msgr(struct lane *lane, struct buffer parameters[][MOST_PARAMETERS]) {
  int64_t time = milliseconds();
  struct buffer *users = parameters[0], *messages = parameters[1], *pushes = parameters[2];
  for (int index = 0; index < 7; index++) begin(&users[index], index ? INT8 : TEXT, group);
  set_number(&messages[0], time);
  for (int index = 1; index < 5; index++) begin(&messages[index], index == 2 ? INT8 : TEXT, group);
  set_number(&pushes[0], time);
  for (int index = 1; index < 8; index++) begin(&pushes[index], push_type(index), group);
  for (int index = 0; index < group; index++) {
    struct user *user = &lane->users[lane->next++ % lane->user_count];
    int64_t earliest = time << 16;
    user->last = user->last < earliest ? earliest : user->last + 1;
    user->count += 1;
    char text[128], content[512], identifier[64], sender[32];
    int random = rand();
    snprintf(sender, sizeof sender, "sender%d", lane->next % 64);
    snprintf(text, sizeof text, "Hello there, this is message number %d.", lane->next % 4096);
    snprintf(content, sizeof content, "{\"Id\":\"%016lx\",\"Badge\":%ld,\"UserFrom\":\"%s\",\"Message\":\"%s\",\"UserTo\":\"%s\"}",
             (unsigned long)user->last, (long)user->count, sender, text, user->name);
    snprintf(identifier, sizeof identifier, "%08x-c5e9-4f61-8f3e-%012lx", (unsigned)random, (unsigned long)lane->messages + index);
    append_text(&users[0], user->name);
    append_number(&users[1], user->count);
    append_number(&users[2], user->count);
    append_number(&users[3], user->last);
    for (int zero = 4; zero < 7; zero++) append_number(&users[zero], 0);
    append_text(&messages[1], user->name);
    append_number(&messages[2], user->last);
    append_text(&messages[3], sender);
    append_text(&messages[4], text);
    append_text(&pushes[1], user->device);
    append_text(&pushes[2], user->name);
    append_text(&pushes[3], user->device);
    append_text(&pushes[4], identifier);
    append_text(&pushes[5], content);
    append_number(&pushes[6], user->last);
    append_number(&pushes[7], user->count == 1);
  }
}

static void fill_pairs(struct lane *lane, struct buffer parameters[][MOST_PARAMETERS]) {
  static _Atomic int64_t last_content = (int64_t)1 << 40;
  struct buffer *contents = parameters[0], *entries = parameters[1], *ids = parameters[2], *shares = parameters[3],
                *queues = parameters[4];
  begin(&contents[0], INT8, group);
  begin(&contents[1], INT8, group);
  begin(&contents[2], BYTEA, group);
  begin(&contents[3], BYTEA, group);
  for (int index = 0; index < 4; index++) begin(&entries[index], INT8, group);
  begin(&entries[4], BYTEA, group);
  begin(&ids[0], INT8, group);
  begin(&ids[1], BYTEA, group);
  begin(&ids[2], INT8, group);
  for (int index = 0; index < 3; index++) begin(&shares[index], INT8, group);
  for (int index = 0; index < 4; index++) begin(&queues[index], INT8, group);
  for (int index = 0; index < group; index++) {
    struct user *user = &lane->users[lane->next++ % lane->user_count];
    user->last += 1;
    user->count += 1;
    user->bytes += DATA;
    unsigned char data[DATA], header[106], id[32];
    for (size_t byte = 0; byte < sizeof data; byte += 4) memcpy(data + byte, &(int){rand()}, 4);
    memcpy(header, data, sizeof header);
    memcpy(id, data + 128, sizeof id);
    int64_t content = last_content++;
    append_number(&contents[0], content);
    append_number(&contents[1], 1);
    append_bytes(&contents[2], header, sizeof header);
    append_bytes(&contents[3], data, sizeof data);
    append_number(&entries[0], user->number);
    append_number(&entries[1], user->last);
    append_number(&entries[2], -1);
    append_number(&entries[3], content);
    append_bytes(&entries[4], id, sizeof id);
    append_number(&ids[0], user->number);
    append_bytes(&ids[1], id, 16);
    append_number(&ids[2], user->last);
    append_number(&shares[0], user->number);
    append_number(&shares[1], -1);
    append_number(&shares[2], user->last);
    append_number(&queues[0], user->number);
    append_number(&queues[1], user->last);
    append_number(&queues[2], user->count);
    append_number(&queues[3], user->bytes);
  }
}

// Reads one result and its end.
static void receive(PGconn *connection) {
  PQclear(checked(connection, PQgetResult(connection)));
  PQclear(PQgetResult(connection));
}

static void write_group(struct lane *lane, struct buffer parameters[][MOST_PARAMETERS]) {
  PGconn *connection = lane->connection;
  if (!PQsendQueryParams(connection, "BEGIN", 0, NULL, NULL, NULL, NULL, 1)) fail(connection);
  for (int index = 0; index < statement_count; index++) {
    const char *values[MOST_PARAMETERS];
    int lengths[MOST_PARAMETERS], formats[MOST_PARAMETERS];
    char name[16];
    snprintf(name, sizeof name, "s%d", index);
    for (int parameter = 0; parameter < statements[index].count; parameter++) {
      values[parameter] = parameters[index][parameter].bytes;
      lengths[parameter] = (int)parameters[index][parameter].count;
      formats[parameter] = 1;
    }
    if (!PQsendQueryPrepared(connection, name, statements[index].count, values, lengths, formats, 1)) fail(connection);
  }
  if (!PQsendQueryParams(connection, "COMMIT", 0, NULL, NULL, NULL, NULL, 1)) fail(connection);
  if (!PQpipelineSync(connection)) fail(connection);
  for (int index = 0; index < statement_count + 2; index++) receive(connection);
  PQclear(checked(connection, PQgetResult(connection)));
}

static void *run(void *argument) {
  struct lane *lane = argument;
  static _Thread_local struct buffer parameters[MOST_STATEMENTS][MOST_PARAMETERS];
  if (!PQenterPipelineMode(lane->connection)) fail(lane->connection);
  double end = now() + seconds;
  while (now() < end) {
    if (is_msgr) fill_msgr(lane, parameters);
    else fill_pairs(lane, parameters);
    write_group(lane, parameters);
    lane->messages += group;
  }
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 6) {
    fprintf(stderr, "usage: postgresql_floor CONNINFO msgr|pairs CONNECTIONS GROUP SECONDS\n");
    return 2;
  }
  conninfo = arguments[1];
  is_msgr = strcmp(arguments[2], "msgr") == 0;
  lane_count = atoi(arguments[3]);
  group = atoi(arguments[4]);
  seconds = atof(arguments[5]);
  statements = is_msgr ? msgr_statements : pairs_statements;
  statement_count = is_msgr ? sizeof msgr_statements / sizeof *statements : sizeof pairs_statements / sizeof *statements;
  struct lane *lanes = calloc((size_t)lane_count, sizeof *lanes);
  if (!lanes) abort();
  for (int index = 0; index < lane_count; index++) {
    lanes[index].number = index;
    open_lane(&lanes[index]);
  }
  double start = now();
  for (int index = 0; index < lane_count; index++) pthread_create(&lanes[index].thread, NULL, run, &lanes[index]);
  int64_t messages = 0;
  for (int index = 0; index < lane_count; index++) {
    pthread_join(lanes[index].thread, NULL);
    messages += lanes[index].messages;
    PQfinish(lanes[index].connection);
  }
  printf("%.0f %ld\n", (double)messages / (now() - start), (long)messages);
  return 0;
}
