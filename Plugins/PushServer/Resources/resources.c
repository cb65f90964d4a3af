#include "PushServerResources.h"

BEGIN_RESOURCE(pushserver_schema_postgresql_sql)
#embed "Schema/schema.postgresql.sql"
END_RESOURCE(pushserver_schema_postgresql_sql)

BEGIN_RESOURCE(pushserver_schema_sqlite_sql)
#embed "Schema/schema.sqlite.sql"
END_RESOURCE(pushserver_schema_sqlite_sql)
