#include <CResources.h>

RESOURCE(push_schema_postgresql_sql);
RESOURCE(push_schema_sqlite_sql);
