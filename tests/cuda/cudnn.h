/* tests/cuda/cudnn.h - stands for cuDNN's header of this name: what the CUDA module uses of it,
 * declared by us; see cuda_runtime_api.h.
 *
 * cudnn.c is the library: plain sums, for 32-bit floats, NHWC and cross-correlation alone.
 */
#ifndef DROVE_TESTS_CUDNN_H
#define DROVE_TESTS_CUDNN_H

#include <cuda_runtime_api.h>

enum { CUDNN_MAJOR = 9 };

typedef enum cudnnStatus {
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_STATUS_BAD_PARAM = 2000,
    CUDNN_STATUS_NOT_SUPPORTED = 3000,
    CUDNN_STATUS_NOT_SUPPORTED_SHAPE = 3002,
    CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003,
    CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004
} cudnnStatus_t;

typedef struct stand_in_dnn         *cudnnHandle_t;
typedef struct stand_in_tensor      *cudnnTensorDescriptor_t;
typedef struct stand_in_filter      *cudnnFilterDescriptor_t;
typedef struct stand_in_convolution *cudnnConvolutionDescriptor_t;

typedef enum cudnnTensorFormat { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1 } cudnnTensorFormat_t;
typedef enum cudnnDataType { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_DOUBLE = 1 } cudnnDataType_t;
typedef enum cudnnMathType {
    CUDNN_DEFAULT_MATH = 0,
    CUDNN_TENSOR_OP_MATH = 1,
    CUDNN_FMA_MATH = 3
} cudnnMathType_t;
typedef enum cudnnDeterminism {
    CUDNN_NON_DETERMINISTIC = 0,
    CUDNN_DETERMINISTIC = 1
} cudnnDeterminism_t;
typedef enum cudnnConvolutionMode {
    CUDNN_CONVOLUTION = 0,
    CUDNN_CROSS_CORRELATION = 1
} cudnnConvolutionMode_t;
typedef enum cudnnConvolutionFwdAlgo {
    STAND_IN_FORWARD,
    STAND_IN_FORWARD_LAST = 7
} cudnnConvolutionFwdAlgo_t;
typedef enum cudnnConvolutionBwdDataAlgo {
    STAND_IN_DATA,
    STAND_IN_DATA_LAST = 7
} cudnnConvolutionBwdDataAlgo_t;
typedef enum cudnnConvolutionBwdFilterAlgo {
    STAND_IN_FILTER,
    STAND_IN_FILTER_LAST = 7
} cudnnConvolutionBwdFilterAlgo_t;

typedef struct cudnnConvolutionFwdAlgoPerf {
    cudnnConvolutionFwdAlgo_t algo;
    cudnnStatus_t             status;
    float                     time;
    size_t                    memory;
    cudnnDeterminism_t        determinism;
    cudnnMathType_t           mathType;
} cudnnConvolutionFwdAlgoPerf_t;

typedef struct cudnnConvolutionBwdDataAlgoPerf {
    cudnnConvolutionBwdDataAlgo_t algo;
    cudnnStatus_t                 status;
    float                         time;
    size_t                        memory;
    cudnnDeterminism_t            determinism;
    cudnnMathType_t               mathType;
} cudnnConvolutionBwdDataAlgoPerf_t;

typedef struct cudnnConvolutionBwdFilterAlgoPerf {
    cudnnConvolutionBwdFilterAlgo_t algo;
    cudnnStatus_t                   status;
    float                           time;
    size_t                          memory;
    cudnnDeterminism_t              determinism;
    cudnnMathType_t                 mathType;
} cudnnConvolutionBwdFilterAlgoPerf_t;

size_t        cudnnGetVersion(void);
const char   *cudnnGetErrorString(cudnnStatus_t status);
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle);
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle);
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream);

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *tensor);
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor);
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w);
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *filter);
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter);
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w);
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *how);
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t how);
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t how, int pad_h,
                                              int pad_w, int step_h, int step_w, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type);
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t how, int n);
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t how, cudnnMathType_t math);
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t how,
                                                    const cudnnTensorDescriptor_t      x,
                                                    const cudnnFilterDescriptor_t filter, int *n,
                                                    int *c, int *h, int *w);

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t y, const int most, int *n,
    cudnnConvolutionFwdAlgoPerf_t *found);
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t y,
    cudnnConvolutionFwdAlgo_t algorithm, size_t *n_bytes);
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha,
                                      const cudnnTensorDescriptor_t x, const void *x_at,
                                      const cudnnFilterDescriptor_t w, const void *w_at,
                                      const cudnnConvolutionDescriptor_t how,
                                      cudnnConvolutionFwdAlgo_t algorithm, void *workspace,
                                      size_t n_bytes, const void *beta,
                                      const cudnnTensorDescriptor_t y, void *y_at);

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx, const int most,
    int *n, cudnnConvolutionBwdDataAlgoPerf_t *found);
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnTensorDescriptor_t dx,
    cudnnConvolutionBwdDataAlgo_t algorithm, size_t *n_bytes);
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
                                           const cudnnFilterDescriptor_t w, const void *w_at,
                                           const cudnnTensorDescriptor_t dy, const void *dy_at,
                                           const cudnnConvolutionDescriptor_t how,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void *workspace,
                                           size_t n_bytes, const void *beta,
                                           const cudnnTensorDescriptor_t dx, void *dx_at);

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw, const int most,
    int *n, cudnnConvolutionBwdFilterAlgoPerf_t *found);
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t dy,
    const cudnnConvolutionDescriptor_t how, const cudnnFilterDescriptor_t dw,
    cudnnConvolutionBwdFilterAlgo_t algorithm, size_t *n_bytes);
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
                                             const cudnnTensorDescriptor_t x, const void *x_at,
                                             const cudnnTensorDescriptor_t dy, const void *dy_at,
                                             const cudnnConvolutionDescriptor_t how,
                                             cudnnConvolutionBwdFilterAlgo_t    algorithm,
                                             void *workspace, size_t n_bytes, const void *beta,
                                             const cudnnFilterDescriptor_t dw, void *dw_at);

#endif
