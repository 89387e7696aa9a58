/* --until: every condition, every refusal with the word that helps. */
#include "config/until.h"
#include "support/test.h"

#include <math.h>
#include <string.h>

TEST(conditions_are_read)
{
    drove_until u;
    assert_int_equal(drove__until_parse("loss=5%,epochs=30", &u), DROVE_OK);
    assert_true(u.loss_is_relative);
    assert_float_equal(u.loss, 0.05, 1e-12);
    assert_float_equal(u.epochs, 30.0, 0.0);
    assert_true(isinf(u.seconds));
    assert_true(drove__until_has_target(&u));

    assert_int_equal(drove__until_parse("loss=0.1,seconds=2.5,updates=7,patience=3", &u), DROVE_OK);
    assert_false(u.loss_is_relative);
    assert_float_equal(u.loss, 0.1, 1e-12);
    assert_float_equal(u.seconds, 2.5, 0.0);
    assert_int_equal(u.updates, 7);
    assert_int_equal(u.patience, 3);

    assert_true(u.validation == 0.0);
    assert_int_equal(drove__until_parse("validation=10%,patience=3", &u), DROVE_OK);
    assert_true(u.validation_is_part && u.validation == 0.1);
    assert_int_equal(drove__until_parse("validation=250,epochs=5", &u), DROVE_OK);
    assert_true(!u.validation_is_part && u.validation == 250.0);
    assert_int_equal(drove__until_parse("auto", &u), DROVE_OK);
    assert_true(u.epochs == 10.0 && u.validation == 0.0);

    assert_int_equal(drove__until_parse("accuracy=97%", &u), DROVE_OK);
    assert_float_equal(u.accuracy, 0.97, 1e-12);
    assert_int_equal(drove__until_parse("epochs=2", &u), DROVE_OK);
    assert_false(drove__until_has_target(&u));
}

TEST(refusals_say_what_was_found)
{
    static const char *const bad[][2] = {
        {"", "name=value"},
        {"epoch=3", "epochs"},
        {"loss", "name=value"},
        {"loss=abc", "loss"},
        {"loss=nan", "loss"},
        {"epochs=-1", "epochs"},
        {"accuracy=1.5", "accuracy"},
        {"updates=1.5", "updates"},
        {"patience=0", "patience"},
        {"epochs=3,,", "name=value"},
        {"loss=5%,loss=0.1", "twice"},
        {"validation=0", "validation"},
        {"validation=95%", "validation"},
    };
    drove_until u = {.updates = 42};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(drove__until_parse(bad[i][0], &u), DROVE_E_ARG);
        assert_non_null(strstr(drove_error_text(), bad[i][1]));
        assert_non_null(strstr(drove_error_text(), "--until"));
        assert_int_equal(u.updates, 42); /* untouched */
    }
}
