/* Plays the last legal action: a program for Back Alley, in C99 without a library.
 *
 *     cc -O2 -o last_player last_player.c
 *     backalley evaluate pitch cmd:./last_player bot
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *line;
static size_t room;

/* Read a line of any length; 0 at the end of the input. */
static int read_line(void)
{
    size_t length = 0;
    int sign;
    while ((sign = getchar()) != EOF && sign != '\n') {
        if (length + 2 > room) {
            room = 2 * room + 4096;
            line = realloc(line, room);
            if (line == NULL)
                exit(1);
        }
        line[length++] = (char)sign;
    }
    if (line != NULL)
        line[length] = '\0';
    return sign != EOF;
}

/* The place after a JSON value that begins at `at`. */
static const char *after(const char *at)
{
    int depth = 0, quoted = 0;
    for (; *at != '\0'; at++) {
        if (quoted) {
            if (*at == '\\')
                at++;
            else if (*at == '"')
                quoted = 0;
        } else if (*at == '"') {
            quoted = 1;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if (*at == '}' || *at == ']' || *at == ',') {
            if (depth == 0)
                break;
            if (*at != ',')
                depth--;
        }
    }
    return at;
}

/* The value of a key of the JSON object that begins at `object`, or NULL. */
static const char *value(const char *object, const char *key)
{
    size_t length = strlen(key);
    const char *at = object + 1;
    while (*at == '"') {
        const char *colon = strchr(at + 1, '"') + 1; /* no key of the protocol holds a quote */
        if ((size_t)(colon - at) == length + 2 && strncmp(at + 1, key, length) == 0)
            return colon + 1;
        at = after(colon + 1);
        if (*at == ',')
            at++;
    }
    return NULL;
}

/* The last object of the JSON array that begins at `array`. */
static const char *last_of(const char *array)
{
    const char *at = array + 1, *found = at;
    while (*at == '{') {
        found = at;
        at = after(at);
        if (*at == ',')
            at++;
    }
    return found;
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* every line goes at once */
    while (read_line()) {
        const char *type = value(line, "type");
        if (type != NULL && strncmp(type, "\"hello\"", 7) == 0) {
            printf("{\"type\": \"hello\", \"protocol\": 1, \"name\": \"last player\", \"wants\": [], \"at_once\": 64}\n");
        } else if (type != NULL && strncmp(type, "\"act\"", 5) == 0) {
            int request = atoi(value(line, "id"));
            int action = atoi(value(last_of(value(line, "legal")), "action"));
            printf("{\"id\": %d, \"action\": %d}\n", request, action);
        }
    }
    return 0;
}
