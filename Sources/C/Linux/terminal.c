#include "linux_shim.h"
#include <termios.h>

// Reads the line byte by byte. Ctrl-C arrives as a byte instead of a signal, so that it cannot leave the terminal
// without echo.
int lk_read_secret(const char *prompt, char *line, int most) {
  enum { INTERRUPT = 3, END_OF_INPUT = 4, BACKSPACE = 8, CLEAR = 21, DELETE = 127 };
  int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
  struct termios before;
  if (fd < 0 || tcgetattr(fd, &before) < 0) {
    if (fd >= 0) close(fd);
    return -ENXIO;
  }
  struct termios silent = before;
  silent.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
  silent.c_cc[VMIN] = 1;
  silent.c_cc[VTIME] = 0;
  tcsetattr(fd, TCSAFLUSH, &silent);
  lk_write(fd, prompt, strlen(prompt));
  int count = 0, result = 0;
  for (;;) {
    char byte;
    if (lk_read(fd, &byte, 1) != 1 || byte == INTERRUPT || byte == END_OF_INPUT) { result = -EINTR; break; }
    if (byte == '\n' || byte == '\r') { result = count; break; }
    if (byte == BACKSPACE || byte == DELETE) {
      // Remove all bytes of a UTF-8 character.
      while (count > 0 && (line[--count] & 0xC0) == 0x80) {}
    } else if (byte == CLEAR) {
      count = 0;
    } else if (count < most) {
      line[count++] = byte;
    } else {
      result = -EMSGSIZE;
      break;
    }
  }
  tcsetattr(fd, TCSAFLUSH, &before);
  lk_write(fd, "\n", 1);
  close(fd);
  if (result < 0) explicit_bzero(line, (size_t)most);
  return result;
}
