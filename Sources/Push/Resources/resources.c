#include "PushResources.h"

BEGIN_RESOURCE(push_schema_postgresql_sql)
#embed "Schema/schema.postgresql.sql"
END_RESOURCE(push_schema_postgresql_sql)

BEGIN_RESOURCE(push_schema_sqlite_sql)
#embed "Schema/schema.sqlite.sql"
END_RESOURCE(push_schema_sqlite_sql)
