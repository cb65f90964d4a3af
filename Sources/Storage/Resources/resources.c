#include "StorageResources.h"

BEGIN_RESOURCE(storage_tables_postgresql_sql)
#embed "tables.postgresql.sql"
END_RESOURCE(storage_tables_postgresql_sql)
