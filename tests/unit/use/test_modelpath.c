/* Where a saved model lies: a file as it is named, or inside the folder of a run. */
#include "use/modelfile.h"
#include "config/resolve.h"
#include "support/test.h"

#include <drove/train.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void touch(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void expect(const char *path, const char *file)
{
    char found[64];
    assert_int_equal(drove_model_find(path, found, sizeof found), DROVE_OK);
    assert_string_equal(found, file);
}

TEST(folders_and_files)
{
    char root[] = "modelpath.XXXXXX", found[64] = "as it was";
    assert_non_null(mkdtemp(root));
    assert_int_equal(chdir(root), 0);
    assert_int_equal(mkdir("run", 0777), 0);
    assert_int_equal(mkdir("mlp", 0777), 0);

    assert_int_equal(drove_model_find("run", found, sizeof found), DROVE_E_FILE);
    assert_non_null(strstr(drove_error_text(), "found a folder without model.safetensors"));
    assert_string_equal(found, "as it was");
    assert_false(drove__names_model_file("run"));

    touch("run/best.safetensors");
    expect("run", "run/best.safetensors");
    touch("run/model.safetensors"); /* what the summary of the run is about comes first */
    expect("run", "run/model.safetensors");
    expect("run/", "run/model.safetensors");
    expect("run/best.safetensors", "run/best.safetensors");
    expect("nowhere", "nowhere"); /* reading it fails, with the reason */
    assert_int_equal(drove_model_find("run", found, 8), DROVE_E_ARG);

    touch("mlp/model.safetensors"); /* a kind of model has that name */
    assert_true(drove__names_model_file("run"));
    assert_false(drove__names_model_file("mlp"));
    assert_true(drove__names_model_file("./mlp"));
    assert_true(drove__names_model_file("any.safetensors"));

    unlink("run/best.safetensors");
    unlink("run/model.safetensors");
    unlink("mlp/model.safetensors");
    assert_int_equal(rmdir("run"), 0);
    assert_int_equal(rmdir("mlp"), 0);
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(rmdir(root), 0);
}
