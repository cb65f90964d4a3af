#include <CResources.h>

RESOURCE(msgr_openapi_json);
RESOURCE(msgr_emoji_short_codes_txt);
RESOURCE(msgr_schema_postgresql_sql);
RESOURCE(msgr_schema_sqlite_sql);
RESOURCE(msgr_api_js);
RESOURCE(msgr_app_js);
RESOURCE(msgr_archive_js);
RESOURCE(msgr_msgr_js);
RESOURCE(msgr_page_js);
RESOURCE(msgr_settings_js);
RESOURCE(msgr_worker_js);
RESOURCE(msgr_icon_svg);
RESOURCE(msgr_api_html);
RESOURCE(msgr_index_html);
RESOURCE(msgr_manifest_webmanifest);
RESOURCE(msgr_icon_180_png);
RESOURCE(msgr_icon_192_png);
RESOURCE(msgr_icon_512_png);
RESOURCE(msgr_icon_maskable_png);
RESOURCE(msgr_rich_js);
RESOURCE(msgr_topics_js);
