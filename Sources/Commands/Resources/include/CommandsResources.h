#include <CResources.h>

RESOURCE(commands_completion_bash);
RESOURCE(commands_completion_fish);
RESOURCE(commands_completion_zsh);
RESOURCE(commands_frontdoor_css);
RESOURCE(commands_frontdoor_html);
RESOURCE(commands_status_css);
RESOURCE(commands_status_html);
RESOURCE(commands_awd_1);
