#include <CResources.h>

RESOURCE(webapps_style_css);
RESOURCE(webapps_view_js);
RESOURCE(webapps_base_css);
RESOURCE(webapps_message_css);
RESOURCE(webapps_page_html);
