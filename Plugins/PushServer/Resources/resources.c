#include "PushServerResources.h"

BEGIN_RESOURCE(pushserver_step1_postgresql_sql)
#embed "Schema/step1.postgresql.sql"
END_RESOURCE(pushserver_step1_postgresql_sql)

BEGIN_RESOURCE(pushserver_step1_sqlite_sql)
#embed "Schema/step1.sqlite.sql"
END_RESOURCE(pushserver_step1_sqlite_sql)
