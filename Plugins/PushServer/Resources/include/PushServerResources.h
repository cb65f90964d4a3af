#include <CResources.h>

RESOURCE(pushserver_step1_postgresql_sql);
RESOURCE(pushserver_step1_sqlite_sql);
