#include <CResources.h>

RESOURCE(pushserver_schema_postgresql_sql);
RESOURCE(pushserver_schema_sqlite_sql);
