/* Matrices and linear models of ONNX become dense layers, with their weights where plain loops of
 * this file put them; sums; what a layer cannot do is refused, by the node's name and what is
 * wrong. */
#include "unit/model/onnx_made.h"
#include "support/test.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

static void is_node(const drove_graph *g, size_t at, const drove_layer_ops *ops, const char *name,
                    const char *bottom)
{
    assert_true(at < g->n_nodes);
    assert_ptr_equal(g->node[at].ops, ops);
    assert_string_equal(g->node[at].name, name);
    assert_string_equal(g->node[at].bottom[0], bottom);
}

/* ---- dense layers ---- */

/* w[i][o] of a matrix [n_out][n_in] or [n_in][n_out]. */
static void has_matrix(const drove_node *node, const float *from, size_t n_in, size_t n_out,
                       bool is_transposed)
{
    const drove_node_values *v = &node->values;
    assert_int_equal(v->n_w, n_in * n_out);
    assert_int_equal(v->n_in, n_in);
    assert_int_equal(node->opt.n_out, n_out);
    for (size_t i = 0; i < n_in; i++) {
        for (size_t o = 0; o < n_out; o++)
            assert_true(v->w[i * n_out + o] ==
                        (is_transposed ? from[o * n_in + i] : from[i * n_out + o]));
    }
}

static void has_biases(const drove_node *node, const float *from, size_t n)
{
    assert_false(node->opt.no_bias);
    assert_int_equal(node->values.n_b, n);
    assert_memory_equal(node->values.b, from, n * sizeof *from);
}

TEST(gemm_is_a_dense_layer)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        onnx_begin();
        const float *w = onnx_tensor("fc.weight", 2, 3, 5),
                    *b = onnx_tensor("fc.bias", 1, transposed ? 3 : 5);
        onnx_node("Gemm", "x,fc.weight,fc.bias", "out");
        onnx_int("transB", transposed);
        onnx_int("transA", 0);
        onnx_real("alpha", 1.0f);
        onnx_real("beta", 1.0f);
        drove_graph g = onnx_accepted();
        assert_int_equal(g.n_nodes, 1);
        is_node(&g, 0, &drove__layer_dense, "fc", "data");
        has_matrix(&g.node[0], w, transposed ? 5 : 3, transposed ? 3 : 5, transposed);
        has_biases(&g.node[0], b, transposed ? 3 : 5);
        drove__graph_fini(&g);
    }
    onnx_begin(); /* without biases beta says nothing */
    onnx_tensor("fc_weight", 2, 3, 5);
    onnx_node("Gemm", "x,fc_weight", "out");
    onnx_real("beta", 7.0f);
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_dense, "fc", "data");
    assert_true(g.node[0].opt.no_bias);
    assert_int_equal(g.node[0].values.n_b, 0);
    drove__graph_fini(&g);
}

static void begin_gemm(void)
{
    onnx_begin();
    onnx_tensor("w", 2, 3, 5);
    onnx_tensor("b", 1, 5);
    onnx_node("Gemm", "x,w,b", "out");
}

TEST(gemms_that_are_more_are_refused)
{
    begin_gemm();
    onnx_int("transA", 1);
    onnx_refused("node \"out\" (Gemm): transA: expected 0, found 1");
    begin_gemm();
    onnx_int("transB", 2);
    onnx_refused("transB: expected 0 to 1, found 2");
    begin_gemm();
    onnx_real("transB", 1);
    onnx_refused("transB: expected 0 to 1");
    begin_gemm();
    onnx_real("alpha", 2);
    onnx_refused("expected alpha and beta of 1, found 2 and 1");
    begin_gemm();
    onnx_real("beta", 0.5f);
    onnx_refused("expected alpha and beta of 1, found 1 and 0.5");
    begin_gemm();
    onnx_real("alpha", NAN);
    onnx_refused("alpha: expected a finite number");
    begin_gemm();
    onnx_int("alpha", 1);
    onnx_refused("alpha: expected a finite number");
    begin_gemm();
    onnx_int("transB", 1); /* 3 outputs, and 5 biases */
    onnx_refused("expected 3 constant numbers as input 3");
    onnx_begin();
    onnx_node("Gemm", "x", "out");
    onnx_refused("expected two inputs or three");
    onnx_begin();
    onnx_tensor("w", 1, 15);
    onnx_node("Gemm", "x,w", "out");
    onnx_refused("expected a constant matrix as its second input");
    onnx_begin();
    onnx_node("Gemm", "x,x", "out");
    onnx_refused("expected a constant matrix as its second input");
    onnx_begin();
    onnx_tensor("w", 2, 3, 5);
    onnx_node("Gemm", "w,w", "out");
    onnx_refused("expected a part of the network as its input");
}

/* A MatMul, and an Add of constants before or behind it. */
TEST(matmul_and_add_are_one_layer)
{
    for (int is_first = 0; is_first < 2; is_first++) {
        onnx_begin();
        const float *w = onnx_tensor("1.weight", 2, 3, 5), *b = onnx_tensor("b", 1, 5);
        onnx_node("MatMul", "x,1.weight", "product");
        onnx_node("Add", is_first ? "b,product" : "product,b", "sum");
        onnx_node("Relu", "sum", "out");
        drove_graph g = onnx_accepted();
        assert_int_equal(g.n_nodes, 2);
        is_node(&g, 0, &drove__layer_dense, "dense1", "data"); /* names do not begin with digits */
        has_matrix(&g.node[0], w, 3, 5, false);
        has_biases(&g.node[0], b, 5);
        is_node(&g, 1, &drove__layer_activation, "activation2", "dense1");
        assert_int_equal(g.node[1].act, DROVEK_RELU);
        drove__graph_fini(&g);
    }
    onnx_begin();
    onnx_tensor("w", 2, 3, 5);
    onnx_tensor("b", 1, 5);
    onnx_node("MatMul", "x,w", "product");
    onnx_node("Add", "product,b", "sum");
    onnx_node("Add", "product,sum", "out"); /* reads it without its biases */
    onnx_refused("node \"sum\" (Add): expected constants that fit [], found [5]"); /* no sides */
    onnx_begin();
    onnx_tensor("w", 2, 3, 5);
    onnx_tensor("b", 1, 4);
    onnx_node("MatMul", "x,w", "product");
    onnx_node("Add", "product,b", "out");
    onnx_refused("expected constants that fit [], found [4]");
    onnx_begin(); /* biases upon biases */
    onnx_tensor("w", 2, 3, 5);
    onnx_tensor("b", 1, 5);
    onnx_node("MatMul", "x,w", "product");
    onnx_node("Add", "product,b", "sum");
    onnx_node("Add", "sum,b", "out");
    onnx_refused("node \"out\" (Add): expected constants that fit [], found [5]");
    onnx_begin();
    onnx_tensor("b", 1, 5);
    onnx_node("Add", "x,b", "out");
    onnx_refused("expected constants that fit [], found [5]");
    onnx_begin();
    onnx_tensor("b", 1, 5);
    onnx_node("Relu", "x", "y");
    onnx_node("Add", "y,b", "out");
    onnx_refused("expected constants that fit [], found [5]");
    onnx_begin();
    onnx_node("Add", "x", "out");
    onnx_refused("expected two inputs");
    onnx_begin();
    onnx_tensor("w", 2, 3, 5);
    onnx_node("MatMul", "x,w,w", "out");
    onnx_refused("expected two inputs");
}

TEST(constants_may_be_turned)
{
    static const struct {
        int n_turns, perm; /* -1: none */
        bool is_transposed;
    } cases[] = {{1, -1, true}, {1, 1, true}, {1, 0, false}, {2, -1, false}};
    for (size_t c = 0; c < DROVE_COUNT(cases); c++) {
        onnx_begin();
        const float *w = onnx_tensor("w", 2, 3, 5);
        onnx_node("Transpose", "w", "turned1");
        if (cases[c].perm >= 0) onnx_ints("perm", 2, cases[c].perm, 1 - cases[c].perm);
        if (cases[c].n_turns == 2) onnx_node("Transpose", "turned1", "turned2");
        onnx_node("MatMul", cases[c].n_turns == 2 ? "x,turned2" : "x,turned1", "out");
        drove_graph g = onnx_accepted();
        bool is_transposed = cases[c].is_transposed;
        has_matrix(&g.node[0], w, is_transposed ? 5 : 3, is_transposed ? 3 : 5, is_transposed);
        drove__graph_fini(&g);
    }
    onnx_begin();
    onnx_node("Transpose", "x", "out");
    onnx_refused("expected a constant matrix");
    onnx_begin();
    onnx_tensor("w", 1, 3);
    onnx_node("Transpose", "w", "out");
    onnx_refused("expected a constant matrix");
    onnx_begin();
    onnx_node("Constant", "", "w"); /* a constant of its own node */
    const float *w = onnx_tensor("unnamed", 2, 3, 5);
    onnx_value("value");
    onnx_node("MatMul", "x,w", "out");
    drove_graph g = onnx_accepted();
    has_matrix(&g.node[0], w, 3, 5, false);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_node("Constant", "", "w");
    onnx_refused("expected a tensor as its value");
}

TEST(sums_read_parts_of_the_network)
{
    static const char *const ops[] = {"Add", "Sum", "Concat"};
    for (size_t i = 0; i < DROVE_COUNT(ops); i++) {
        onnx_begin();
        onnx_node("Relu", "x", "a");
        onnx_node("Tanh", "x", "b");
        onnx_node(ops[i], i == 0 ? "b,a" : "b,a,x", "out");
        drove_graph g = onnx_accepted();
        is_node(&g, 2, i < 2 ? &drove__layer_sum : &drove__layer_concat, i < 2 ? "sum3" : "concat3",
                "activation2");
        assert_int_equal(g.node[1].act, DROVEK_TANH);
        assert_int_equal(g.node[2].n_bottoms, i == 0 ? 2 : 3);
        assert_string_equal(g.node[2].bottom[1], "activation1");
        if (i > 0) assert_string_equal(g.node[2].bottom[2], "data");
        drove__graph_fini(&g);
    }
    onnx_begin();
    onnx_tensor("c", 1, 5);
    onnx_node("Sum", "x,c", "out");
    onnx_refused("expected parts of the network as its inputs");
    onnx_begin();
    onnx_node("Concat", "x,x", "out");
    onnx_int("axis", 2);
    onnx_refused("axis: expected 1, found 2");
}

/* ---- ai.onnx.ml ---- */

static const float rows[] = {1, -2, 3, 4, 5, -6}, opposite[] = {-1, 2, -3, 1, -2, 3};

TEST(linear_models_are_dense_layers)
{
    static const float b[] = {-8, 8, 9};
    onnx_begin();
    onnx_node("LinearRegressor", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_int("targets", 2);
    onnx_reals("coefficients", 6, rows);
    onnx_reals("intercepts", 2, b);
    onnx_word("post_transform", "NONE");
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_dense, "dense1", "data");
    has_matrix(&g.node[0], rows, 3, 2, true);
    has_biases(&g.node[0], b, 2);
    drove__graph_fini(&g);
    onnx_begin(); /* one target, and no intercept */
    onnx_node("LinearRegressor", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_reals("coefficients", 6, rows);
    g = onnx_accepted();
    has_matrix(&g.node[0], rows, 6, 1, true);
    assert_true(g.node[0].opt.no_bias);
    drove__graph_fini(&g);
    for (int c = 0; c < 3; c++) { /* three classes; two; two whose rows are opposite: one output */
        const float *w = c == 2 ? opposite : rows;
        const size_t n_out = c == 0 ? 3 : 2, first = c == 2;
        onnx_begin();
        onnx_node("LinearClassifier", "x", "label,scores");
        onnx_domain("ai.onnx.ml");
        onnx_reals("coefficients", 6, w);
        onnx_reals("intercepts", n_out, b);
        if (c < 2) onnx_node("Softmax", "scores", "out"); /* that of a pair is another */
        onnx_node("ZipMap", c < 2 ? "out" : "scores", "map");
        onnx_domain("ai.onnx.ml");
        onnx_node("Identity", "label", "copied");
        g = onnx_accepted();
        assert_int_equal(g.n_nodes, 1); /* the softmax is left to the loss */
        has_matrix(&g.node[0], w + first * 3, 6 / n_out, n_out - first, true);
        has_biases(&g.node[0], b + first, n_out - first);
        drove__graph_fini(&g);
    }
}

static void begin_classifier(const char *out)
{
    onnx_begin();
    onnx_node("LinearClassifier", "x", out);
    onnx_domain("ai.onnx.ml");
}

TEST(linear_models_that_are_more_are_refused)
{
    begin_classifier("label,scores");
    onnx_reals("coefficients", 6, rows);
    onnx_refused(
        "expected two outputs, intercepts, and a post_transform of NONE, SOFTMAX or LOGISTIC, "
        "found NONE");
    begin_classifier("label");
    onnx_reals("coefficients", 6, rows);
    onnx_reals("intercepts", 2, rows);
    onnx_refused(
        "expected two outputs, intercepts, and a post_transform of NONE, SOFTMAX or LOGISTIC, "
        "found NONE");
    begin_classifier("label,scores");
    onnx_reals("coefficients", 6, rows);
    onnx_reals("intercepts", 2, rows);
    onnx_word("post_transform", "PROBIT");
    onnx_refused("found PROBIT");
    begin_classifier("label,scores");
    onnx_reals("coefficients", 6, rows);
    onnx_reals("intercepts", 4, rows);
    onnx_refused("expected coefficients and intercepts of 4 outputs, found 6 and 4");
    begin_classifier("label,scores");
    onnx_reals("coefficients", 6, rows);
    onnx_reals("intercepts", 0, rows);
    onnx_refused("expected coefficients and intercepts of 0 outputs, found 6 and 0");
    onnx_begin();
    onnx_node("LinearRegressor", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_reals("coefficients", 6, rows);
    onnx_reals("intercepts", 2, rows);
    onnx_refused("expected coefficients and intercepts of 1 outputs, found 6 and 2");
    onnx_begin();
    onnx_node("LinearRegressor", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_refused("expected coefficients and intercepts of 1 outputs, found 0 and 0");
    onnx_begin();
    onnx_node("LinearRegressor", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_reals("coefficients", 6, rows);
    onnx_word("post_transform", "SOFTMAX");
    onnx_refused("post_transform: expected NONE, found SOFTMAX");
    onnx_begin(); /* the same name in another domain is another operator */
    onnx_node("Relu", "x", "out");
    onnx_domain("ai.onnx.ml");
    onnx_refused("drove has no layer for this operator");
}

TEST(a_scaler_is_a_layer)
{
    onnx_begin();
    onnx_node("Scaler", "x", "scaled");
    onnx_domain("ai.onnx.ml");
    onnx_node("Relu", "scaled", "out");
    onnx_domain("ai.onnx");
    drove_graph g = onnx_accepted();
    is_node(&g, 0, &drove__layer_scale, "scale1", "data");
    is_node(&g, 1, &drove__layer_activation, "activation2", "scale1");
    assert_null(g.notes);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_tensor("w", 2, 3, 1);
    onnx_tensor("one", 1, 1);
    onnx_node("MatMul", "x,w", "y");
    onnx_node("Sigmoid", "y", "p");
    onnx_node("Sub", "one,p", "q");
    onnx_node("Concat", "q,p", "out");
    onnx_node("ArgMax", "out", "label");
    g = onnx_accepted();
    assert_string_equal(g.notes, "the sigmoid at the end is left to the loss\n");
    drove__graph_fini(&g);
    onnx_begin();
    onnx_tensor("one", 1, 1);
    onnx_node("Relu", "x", "p");
    onnx_node("Sub", "one,p", "out"); /* (p - 10) * -1 */
    g = onnx_accepted();
    is_node(&g, 1, &drove__layer_scale, "scale2", "activation1");
    assert_true(g.node[1].opt.offset.n == 1 && g.node[1].opt.offset.value[0] == 10);
    assert_true(g.node[1].opt.factor.n == 1 && g.node[1].opt.factor.value[0] == -1);
    drove__graph_fini(&g);
    onnx_begin();
    onnx_node("Sigmoid", "x", "p");
    onnx_node("Sub", "x,p", "out");
    onnx_refused("drove has no layer for two parts of it");
}
