# cmake -DOUTPUT=HEADER -DSOURCES=FILE;FILE... -P embed-texts.cmake: writes a C header with the content of each file as
# an array of bytes ended by a zero: "loss.h" becomes loss_h[].
set(text "/* Made by cmake/embed-texts.cmake. */\n")
foreach(source IN LISTS SOURCES)
  get_filename_component(name ${source} NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  file(READ ${source} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REPLACE "0x0a," "0x0a,\n" bytes "${bytes}")  # a line for a line
  string(APPEND text "static const char ${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
