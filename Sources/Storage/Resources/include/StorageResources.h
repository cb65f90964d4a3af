#include <CResources.h>

RESOURCE(storage_tables_postgresql_sql);
