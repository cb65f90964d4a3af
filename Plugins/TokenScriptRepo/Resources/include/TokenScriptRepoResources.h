#include <CResources.h>

RESOURCE(tokenscript_schema_postgresql_sql);
RESOURCE(tokenscript_schema_sqlite_sql);
RESOURCE(tokenscript_new_tsml);
RESOURCE(tokenscript_new_2020_06_tsml);
RESOURCE(tokenscript_schemas_sha256);
RESOURCE(tokenscript_DAI_2020_03_tsml);
RESOURCE(tokenscript_DAI_tsml);
RESOURCE(tokenscript_ENS_tsml);
RESOURCE(tokenscript_USDC_tsml);
RESOURCE(tokenscript_WETH_tsml);
RESOURCE(tokenscript_contract_css);
RESOURCE(tokenscript_index_css);
RESOURCE(tokenscript_contract_html);
RESOURCE(tokenscript_index_html);
RESOURCE(tokenscript_preview_html);
RESOURCE(tokenscript_choices_html);
