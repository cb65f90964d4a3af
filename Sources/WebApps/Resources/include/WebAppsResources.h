#include <CResources.h>

RESOURCE(webapps_style_css);
RESOURCE(webapps_view_js);
RESOURCE(webapps_de_js);
RESOURCE(webapps_es_js);
RESOURCE(webapps_icons_js);
RESOURCE(webapps_words_js);
RESOURCE(webapps_base_css);
RESOURCE(webapps_message_css);
RESOURCE(webapps_page_html);
