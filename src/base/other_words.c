/* base/other_words.c - see other_words.h. */
#include "base/other_words.h"

#include "base/mem.h"
#include "base/number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* words: separated by blanks, in lower case without '-' and '_'.  "resnet*" is any word that begins
 * so, "*.pt" any file with this ending.  answer: '@' stands for the value that was given if it is
 * of the kind `value`, else for the text `value` itself.  Kinds: "N" and "NUMBER" numbers, "PART" a
 * number of rows or a share, which is written as percent, "RULE" and "LOSS" names that are looked
 * up in their turn, all others any text. */
typedef struct row {
    const char *words, *answer, *value;
} row;

static const row options[] = {
    {"epochs maxepochs maxepoch numepochs nepochs nepoch epoch numtrainepochs passes "
     "maxiter niter niters",
     "write --until epochs=@", "N"},
    {"steps maxsteps numsteps iterations iters maxiterations numiterations updates "
     "maxupdates totalsteps trainsteps",
     "write --until updates=@", "N"},
    {"seconds maxtime timelimit timebudget maxseconds maxruntime", "write --until seconds=@", "N"},
    {"patience earlystopping earlystoppingrounds earlystoppinground earlystop "
     "earlystoppingpatience earlystoppatience niternochange esrounds",
     "write --until patience=@", "N"},
    {"validation validationsplit validationfraction validationsize valsplit valsize "
     "valfraction validfraction validsplit validsize valratio valpercent evalfraction "
     "holdout holdoutfraction",
     "write --until validation=@,patience=5", "PART"},
    {"validationdata valdata validdata valid val valdir valfile validfile validationfile "
     "validationset valset evalset evaldata validsets devdata devfile",
     "write --test @ for data that only measure; --until validation=10% holds training "
     "rows out to choose by",
     "FILE"},
    {"testdata testfile testdir testset evalfile testpath", "write --test @", "FILE"},
    {"testsize testsplit testfraction testratio",
     "write --data 'FILE?split=0.2' (the part of the rows that is held out)", NULL},
    {"minlr minlearningrate minimumlr",
     "write --schedule 'cosine:EPOCHS?floor=0.01' (a factor of --lr)", NULL},
    {"learningrate learningrateinit initiallearningrate initlr initiallr baselr lr0 eta "
     "eta0 stepsize learnrate lrate",
     "write --lr @", "NUMBER"},
    {"lrscheduler lrschedule scheduler lrpolicy lrschedulertype learningrateschedule "
     "learningratescheduler decaylr lrdecay lrdecayrate learningratedecay "
     "learningratepolicy powert lrgamma lrf",
     "write --schedule SPEC (drove list schedules)", NULL},
    {"warmup warmupsteps warmupepochs warmupratio numwarmupsteps lrwarmup",
     "write --schedule warmup:EPOCHS (joined to others by +)", NULL},
    {"alpha l2 lambda lambdal2 regl2 reglambda l2reg l2regularization l2leafreg wd decay "
     "weightdecayrate regularization regparam penalty l2penalty",
     "write --weight-decay @", "NUMBER"},
    {"c", "write --weight-decay NUMBER (1 / C / training rows)", NULL},
    {"l1 lambdal1 regalpha l1ratio l1reg regl1 elasticnet",
     "drove has no L1 penalty; --weight-decay is an L2 one", NULL},
    {"batchsize minibatch minibatchsize bs trainbatchsize perdevicetrainbatchsize "
     "batchnum samplesperbatch",
     "write --batch @", "N"},
    {"evalbatchsize testbatchsize valbatchsize perdeviceevalbatchsize predictbatchsize",
     "drove chooses the batches of evaluations itself; --batch is that of a step", NULL},
    {"gradientaccumulationsteps accumulategradbatches gradaccum accumsteps "
     "gradientaccumulation itersize accumulate",
     "drove has steps of whole batches: write a larger --batch", NULL},
    {"optimizer optimiser optim solver algorithm opt optimizertype updater", "write --rule @",
     "RULE"},
    {"momentum mu sgdmomentum", "write --rule momentum:@", "NUMBER"},
    {"nesterov nesterovsmomentum usenesterov nesterovmomentum", "write --rule nesterov:0.9", NULL},
    {"beta1 adambeta1", "write --rule 'adam?beta1=@'", "NUMBER"},
    {"beta2 adambeta2", "write --rule 'adam?beta2=@'", "NUMBER"},
    {"eps epsilon adamepsilon", "write --rule 'adam?epsilon=@'", "NUMBER"},
    {"gradclip clipgrad clipgradnorm gradientclip gradientclipping gradientclipval "
     "gradientclipnorm maxgradnorm clipnorm globalclipnorm gradclipnorm maxnorm "
     "clipgradients gradnorm clipping gradientclipvalue",
     "write --clip @ (the largest norm of a gradient)", "NUMBER"},
    {"clipvalue gradientclipalgorithm clipgradvalue",
     "drove limits a gradient by its norm: write --clip NUMBER", NULL},
    {"dropout dropoutrate droprate pdrop dropoutp",
     "a network's file has layers of dropout (docs/use/layers.md); of the networks by name "
     "write --model 'alexnet?dropout=0.5'",
     NULL},
    {"hidden hiddenlayersizes hiddenlayers hiddensize hiddensizes hiddendim hiddenunits "
     "layers numlayers nlayers layersizes units numunits neurons width nn numhidden "
     "architecture arch network net backbone",
     "write --model mlp:128,64 (hidden layers of 128 and 64 units; drove list models has "
     "others)",
     NULL},
    {"nestimators ntrees numtrees numboostround numround nrounds numrounds boostinground "
     "maxdepth numleaves maxleaves maxbin minchildweight minchildsamples mindatainleaf "
     "minsamplesleaf minsamplessplit colsamplebytree featurefraction baggingfraction "
     "subsample growpolicy boosting boostingtype booster treemethod maxfeatures "
     "gainthreshold",
     "drove has linear models and networks, no trees", NULL},
    {"device gpu gpus gpuid gpuids usegpu cuda usecuda accelerator devices tasktype "
     "devicetype devicename ngpu numgpus ngpus onegpu",
     "write --workers cuda:0 (or opencl:0; drove info lists the devices; without it the "
     "processor trains)",
     NULL},
    {"nocuda cpu usecpu cpuonly nogpu", "the processor trains unless --workers names a device",
     NULL},
    {"mps tpu tpucores usempsdevice rocm hip npu xpu",
     "drove trains on processors and by CUDA and OpenCL: --workers cuda:0 or opencl:0", NULL},
    {"numworkers nworkers dataworkers dataloadernumworkers dataloaderworkers "
     "loaderworkers loaderthreads numloaderworkers numdataworkers prefetchfactor "
     "workersperloader readerthreads",
     "write --loaders @ (threads that load the next batches)", "N"},
    {"pinmemory persistentworkers droplast",
     "drove needs no such option: --loaders N threads load the next batches", NULL},
    {"njobs nthread nthreads numthreads threadcount ncpus ncpu numcpu numcpus cores "
     "ncores numcores jobs numproc parallelism numprocs",
     "write --threads @", "N"},
    {"localrank nprocpernode numnodes nnodes worldsize distbackend disturl rank "
     "masteraddr masterport nodes distributed ddp dataparallel multiprocessingdistributed "
     "horovod mpi nodelist machines",
     "write mpirun -n N drove train ... (docs/use/cluster.md)", NULL},
    {"deepspeed fsdp zerostage tensorparallel pipelineparallel modelparallel",
     "drove keeps whole models: write mpirun -n N drove train ... to divide the rows "
     "(docs/use/cluster.md)",
     NULL},
    {"fp16 amp half mixedprecision bf16 useamp float16 bfloat16 halfprecision autocast "
     "dtype",
     "write --precision bf16", NULL},
    {"int8 quantize quantization quantise",
     "write --precision D8M8 (or another signature: drove dmgc)", NULL},
    {"compile torchcompile jit xla channelslast cudnnbenchmark benchmark tf32",
     "drove needs no such option: it takes the processor's fastest kernels", NULL},
    {"deterministic reproducible cudnndeterministic",
     "write --threads 1 --seed N (the same bits in each run)", NULL},
    {"randomstate randomseed manualseed rngseed randomgenerator srand noiseseed", "write --seed @",
     "N"},
    {"output o outputdir outdir outputpath outputmodel savedir savepath savefolder "
     "savemodel modeldir modelout finalregressor checkpointdir checkpointpath logdir "
     "defaultrootdir workdir expdir experimentdir rundir save saveto snapshotprefix "
     "modelfile modelpath project weightsave serializationdir",
     "write --out @ (the run's folder, with its model, log and summary)", "DIR"},
    {"checkpointevery savesteps saveinterval savefreq savestrategy saveperiod snapshot "
     "snapshotperiod snapshotfreq checkpointfreq checkpointinterval saveeveryn",
     "write --save-every epochs=@", "N"},
    {"savetotallimit savetopk saveall keeplast maxtokeep savebest savebestonly "
     "loadbestmodelatend",
     "drove needs no such option: a run's folder has the last state, and the best model "
     "where rows are held out",
     NULL},
    {"evalsteps evalinterval testinterval evalfreq evaluationstrategy evalstrategy "
     "validationfreq checkvaleverynepoch valcheckinterval testfreq valfreq validateevery "
     "evalperiod valinterval",
     "write --eval-every EPOCHS", NULL},
    {"loginterval printfreq loggingsteps display logeverynsteps verboseeval logfreq "
     "logevery printevery printinterval logperiod",
     "a line is printed at each evaluation: write --eval-every EPOCHS", NULL},
    {"resumefromcheckpoint resumefrom fromcheckpoint checkpoint ckpt ckptpath "
     "checkpointfile restore restorefrom load loadcheckpoint continue continuetraining "
     "loadmodel resumetraining",
     "write --resume @ (the folder of a run)", "DIR"},
    {"pretrained pretrainedmodel pretrainedweights finetune finetuning transfer "
     "transferlearning loadweights initfrom initmodel initialmodel initialregressor "
     "inputmodel basemodel startfrom warmstart modelnameorpath warmstartfrom",
     "write --model RUN (a run's folder or .safetensors file to go on from; --init "
     "pytorch:FILE takes a state_dict)",
     NULL},
    {"freeze freezelayers frozen unfreeze freezebackbone lrmult paramgroups",
     "write --model FILE?freeze=LAYERS (NAME, NAME* or body: all but the last)", NULL},
    {"target targetcolumn targetcol targetname y ycol ycolumn response responsecolumn "
     "labelcolumn labelcol labels labelname classcolumn outcome ylabel dependent "
     "targetvariable",
     "write --label @", "COLUMN"},
    {"train traindata trainfile trainset trainingdata trainpath traindir dataset input "
     "inputfile inputdata file path datadir datapath dataroot root x source datafile "
     "datafolder trainingfile datasetname f d",
     "write --data @", "SPEC"},
    {"sampleweight sampleweights weightcolumn weightcol weightscolumn exampleweight "
     "instanceweight samplesweight weightname",
     "write --weights @", "COLUMN"},
    {"classweights scaleposweight posweight isunbalance unbalanced autoclassweights "
     "balanced classbalance balanceclasses",
     "write --class-weight balanced (or NAME=2,NAME2=0.5)", NULL},
    {"drop dropcolumns dropcols ignore ignorecolumns ignorecolumn ignorecols exclude "
     "excludecolumns skipcolumns ignoredfeatures ignoredcolumns",
     "write --data 'FILE?ignore=A+B'", NULL},
    {"usecols columns featurecolumns featurecols featurenames predictors independent "
     "xcols xcolumns select selectcolumns numericalfeatures",
     "write --data 'FILE?columns=A+B'", NULL},
    {"categoricalfeature categoricalfeatures catfeatures categoricalcolumns catcols "
     "enablecategorical categorical onehot categoricalcols",
     "write --data 'FILE?types=A:category' (texts are categories by themselves)", NULL},
    {"delimiter sep separator delim fieldseparator columnseparator",
     "write --data 'FILE?sep=semicolon'", NULL},
    {"header hasheader noheader headerrow skipheader", "write --data 'FILE?header=yes' (or no)",
     NULL},
    {"normalize normalise standardize standardise scale scaler preprocessing "
     "normalization normalisation featurescaling standardscaler minmax mean std autoscale",
     "inputs are scaled by themselves; another way: --data 'FILE?scale=unit'", NULL},
    {"imagesize imgsize imgsz inputsize img cropsize resize height imageheight imagewidth "
     "resolution imageshape targetsize rescale",
     "write --data 'DIR?size=224'", NULL},
    {"augment augmentation augmentations dataaugmentation flip hflip fliplr "
     "horizontalflip crop randomcrop mirror transform transforms randomflip shift shear "
     "horizontalflipprob randomresizedcrop padding",
     "write --data 'DIR?mirror=1&pad=4&crop=32' (docs/use/data.md)", NULL},
    {"rotation rotationrange degrees randomrotation",
     "write --data 'DIR?rotate=15' (docs/use/data.md)", NULL},
    {"colorjitter colourjitter brightness contrast saturation",
     "write --data 'DIR?brightness=0.2&contrast=0.2&saturation=0.2' (docs/use/data.md)", NULL},
    {"mixup mixupalpha", "write --data 'DIR?mixup=0.2' (docs/use/data.md)", NULL},
    {"randomerasing autoaugment randaugment cutmix cutout mosaic vflip "
     "flipud hsvh trivialaugment",
     "drove has no such change of images; it has --data 'DIR?mirror=1&pad=4&crop=32'", NULL},
    {"numclasses nclasses nc numclass nclass", "drove counts the classes of the data", NULL},
    {"numfeatures nfeatures inputdim inputshape nfeature", "drove counts the features of the data",
     NULL},
    {"labelsmooth smoothing labelsmoothingfactor smooth", "write --label-smoothing @", "NUMBER"},
    {"ema modelema emadecay useema swa swalr averagemodel average polyak emamomentum asgd",
     "drove has no averages of parameters over a run", NULL},
    {"objective criterion lossfunction lossfn cost obj application objectivefunction "
     "lossname losstype",
     "write --loss @", "LOSS"},
    {"metric evalmetric evalmetrics scorer scoring monitor metricforbestmodel custommetric",
     "all metrics are computed (docs/use/metrics.md); --until loss=, accuracy= and patience= "
     "choose the end",
     NULL},
    {"task problemtype tasks objectivetype learningtask problem",
     "the label decides; another choice: --data 'FILE?target=class' or value", NULL},
    {"kernel gamma degree svmtype kerneltype coef0 rbf",
     "write --model svm --features rff:4096 (random features of the kernel exp(-gamma "
     "|x-y|^2))",
     NULL},
    {"quadratic interactions ngram ngrams q cubic polynomialfeatures polynomial bits "
     "bitprecision",
     "drove has no crossed features: --model mlp:64 learns them", NULL},
    {"cv nfolds folds kfold crossvalidation crossvalidate kfolds fold nsplits",
     "write --data 'FILE?fold=1/5'; in Python, cross_val_score takes drove's estimators", NULL},
    {"config configfile hparams cfg hyp params paramfile parameters yaml args",
     "write drove train FILE.yaml (a run file: docs/man/drove.1)", NULL},
    {"ntrials tune autolrfind lrfind findlr autoscalebatchsize hyperparameters search "
     "automl trials numtrials optuna gridsearch hpo",
     "drove tune searches; --lr auto finds the step size by trials", NULL},
    {"verbose v verbosity progress progressbar enableprogressbar loglevel debug",
     "progress is printed by itself; --quiet leaves it out", NULL},
    {"silent disabletqdm noprogress noprogressbar quietmode noverbose", "write --quiet", NULL},
    {"wandb tensorboard logger mlflow reportto usewandb comet neptune visdom plot plots "
     "visualize",
     "--log FILE writes the figures, drove watch shows a run, drove report draws it", NULL},
    {"shuffle noshuffle shuffledata sampler", "write --order shuffle (or random, or blocks)", NULL},
    {"dryrun fastdevrun overfitbatches limittrainbatches sanitycheck smoketest",
     "write --until updates=10", NULL},
    {"profile profiler profiling trace", "write --timeline FILE (a time line of each worker)",
     NULL},
    {"export onnx saveonnx exportonnx savedmodel torchscript tflite",
     "drove export RUN --onnx FILE writes a trained model", NULL},
    {"predict predictions prediction predictionfile inference infer outputresult",
     "drove predict RUN --data FILE prints predictions", NULL},
    {"eval evaluate testonly evaluateonly evalonly doeval dotrain dopredict validate",
     "drove eval RUN --data FILE measures a trained model", NULL},
    {"cache ram cacheimages cachefile cachedir memorylimit maxmemory rammb gpumemory",
     "write --memory BYTES (the most memory of a run)", NULL},
    {"averagedecay alphasgd tol tolerance earlystoppingmindelta mindelta",
     "write --until patience=N (evaluations without a better loss)", NULL},
    {"fitintercept nointercept bias usebias noconstant", "drove's models have intercepts always",
     NULL},
};

static const row tune_options[] = {
    {"ntrials trials numtrials niter maxevals evaluations numsamples maxtrials",
     "write --budget trials=@", "N"},
    {"timeout timelimit maxtime", "write --budget seconds=@", "N"},
    {"cv kfold nfolds nsplits crossvalidation", "write --folds @", "N"},
    {"njobs parallel paralleltrials", "write --jobs @", "N"},
    {"scoring metricname direction scorer", "write --metric NAME", NULL},
    {"searchspace grid paramgrid paramdistributions parameters",
     "write --space FILE (docs/use/tuning.md)", NULL},
};

static const row use_options[] = {
    {"model m checkpoint ckpt weightsfile load loadmodel run resume modelpath",
     "the model stands first: MODEL --data FILE, the folder of a run or a .safetensors "
     "file",
     NULL},
    {"input i inputfile test testdata file path source x dataset", "write --data @", "FILE"},
    {"output o outputfile predictions outfile save saveto", "write --out @", "FILE"},
    {"probabilities probability predictproba probs scores softmax", "write --proba", NULL},
    {"batchsize bs", "write --batch @", "N"},
    {"njobs nthread nthreads numthreads numworkers workers", "write --threads @", "N"},
    {"device gpu cuda", "models predict on the processor: --threads N", NULL},
    {"target y labelcolumn", "write --label @", "COLUMN"},
    {"sampleweight weightcolumn", "write --weights @", "COLUMN"},
    {"metric scoring", "all metrics are printed (docs/use/metrics.md)", NULL},
    {"verbose v", "what there is to say is on standard error already", NULL},
};

static const row export_options[] = {
    {"format f to type", "write --onnx FILE (or --c FILE, or --pytorch FILE)", NULL},
    {"output o out outputfile outdir", "write --onnx @ (or --c, or --pytorch)", "FILE"},
    {"torch pt torchscript safetensors", "write --pytorch @", "FILE"},
    {"tflite tensorflow coreml tensorrt openvino keras tensorrtengine",
     "drove writes ONNX, C and PyTorch; converters of others read --onnx FILE", NULL},
    {"opset opsetversion dynamicaxes", "drove chooses the operator set itself (docs/use/export.md)",
     NULL},
};

static const row commands[] = {
    {"fit learn fittrain run start finetune retrain trainval",
     "drove train DATA --label COLUMN trains", NULL},
    {"resume continue", "drove train --resume RUN goes on with a run", NULL},
    {"test evaluate score val validate evaluation", "drove eval RUN --data FILE measures a model",
     NULL},
    {"infer inference classify apply detect transform decode",
     "drove predict RUN --data FILE prints predictions", NULL},
    {"convert preprocess import importdata prepare", "drove data convert FROM TO converts data",
     NULL},
    {"summary inspect structure netron", "drove model SPEC shows a network", NULL},
    {"describe summarize summarise head schema stats", "drove data info FILE shows a data set",
     NULL},
    {"search optimize optimise hyperopt automl hpo autotune grid gridsearch",
     "drove tune searches for settings, drove sweep tries all", NULL},
    {"plot visualize visualise tensorboard dashboard ui view show monitor board",
     "drove watch shows a run, drove report draws runs", NULL},
    {"save onnx quantize deploy", "drove export RUN --onnx FILE writes a model for other programs",
     NULL},
    {"serve server api", "drove has no server of its own; examples/server is one over the library",
     NULL},
    {"time profile speed benchmark", "drove bench measures this machine", NULL},
    {"devicequery devices doctor env gpus hardware system", "drove info shows the machine", NULL},
    {"crossvalidate cv kfold",
     "drove train 'FILE?fold=1/5' holds one fold out; in Python, cross_val_score takes "
     "drove's estimators",
     NULL},
    {"install download upgrade update", "drove has its data and models in files of yours", NULL},
};

#define PYTORCH_FILE                                                                               \
    "a PyTorch file: torch.onnx.export(model, example, \"m.onnx\") writes a network for --model "  \
    "m.onnx; its parameters alone, saved by safetensors.torch.save_file(model.state_dict(), "      \
    "\"m.safetensors\"), go to --init pytorch:m.safetensors"
#define TREES   "drove has linear models and networks, no trees"
#define BY_ONNX "; drove reads networks in ONNX: --model m.onnx"

static const row models[] = {
    {"*.pt *.pth *.torchscript *.ckpt *.bin *.t7 *.pt2", PYTORCH_FILE, NULL},
    {"*.h5 *.keras *.hdf5 *.weightsh5",
     "a Keras file" BY_ONNX " (tf2onnx.convert.from_keras writes it)", NULL},
    {"*.pb *.pbtxt *.tflite *.savedmodel *.meta",
     "a TensorFlow file" BY_ONNX " (python -m tf2onnx.convert writes it)", NULL},
    {"*.caffemodel *.solverstate *.binaryproto",
     "a file of Caffe's parameters: --model takes the network's .prototxt; the parameters "
     "come by PyTorch's names (--init pytorch:FILE.safetensors) or in an ONNX file",
     NULL},
    {"*.cfg *.weights *.names",
     "a file of darknet" BY_ONNX ", or write the network in YAML (docs/use/models.md)", NULL},
    {"*.pkl *.pickle *.joblib *.sav *.dill *.skops",
     "a Python object" BY_ONNX
     " (skl2onnx.to_onnx writes it); a drove model is saved by model_.save(\"m.safetensors\")",
     NULL},
    {"*.ubj *.bst *.cbm *.lgb *.xgb *.treelite", "a file of trees: " TREES, NULL},
    {"*.mlmodel *.mlpackage *.params *.gguf *.ggml *.xml *.engine *.plan *.trt *.mar "
     "*.pmml *.rds *.vw *.mnn *.ncnn *.uff *.npz *.npy",
     "a file of another program" BY_ONNX, NULL},
    {"*.json *.txt *.model *.conf *.toml *.ini *.py",
     "no file of a network: --model takes .yaml, .prototxt and .onnx, or a saved "
     ".safetensors file",
     NULL},
    {"xgb* xgboost* lightgbm* lgb* lgbm* catboost* randomforest* rf gbm gbdt gbrt "
     "gradientboosting* histgradient* decisiontree* tree trees extratree* cart forest "
     "adaboost* boosting ranger",
     TREES ": --model auto joins several", NULL},
    {"knn kneighbors* naivebayes gaussiannb multinomialnb kmeans dbscan gp "
     "gaussianprocess* lda qda pca isolationforest",
     "drove has linear models and networks (drove list models)", NULL},
    {"ridge* lasso* elasticnet* ols linearregression linreg lm leastsquares sgdregressor "
     "regression huber* glm regressor",
     "write --model linear (--weight-decay is ridge's penalty)", NULL},
    {"logisticregression* logit logreg lr softmax sgdclassifier maxent multinomial "
     "classifier softmaxregression",
     "write --model logistic", NULL},
    {"svc linearsvc svr linearsvr supportvector* libsvm liblinear ksvm kernelsvm rbf",
     "write --model svm (with --features rff:4096 it has the kernel exp(-gamma |x-y|^2))", NULL},
    {"mlpclassifier mlpregressor nn dnn ann dense fc fcn network neuralnetwork net ffnn "
     "feedforward perceptron multilayerperceptron tabnet sequential",
     "write --model mlp:128,64 (hidden layers of 128 and 64 units)", NULL},
    {"mobilenet*", "write --model mobilenetv3 (small) or 'mobilenetv3?size=large'", NULL},
    {"resnet* resnext* wideresnet* efficientnet* densenet* inception* "
     "squeezenet* shufflenet* convnext* vit* swin* regnet* mnasnet* nasnet* xception* "
     "unet* yolo* darknet* ssd fasterrcnn* maskrcnn* deeplab* deit* bert* gpt* llama* t5* "
     "roberta* transformer* lstm* gru* rnn* timm* vgg11* vgg13* preactresnet* sam* clip*",
     "drove has no network of that name; one in an ONNX file can be trained: --model "
     "m.onnx (torch.onnx.export writes it), or write it in YAML (docs/use/models.md)",
     NULL},
    {"cnn convnet conv* cnn*",
     "write --model lenet (or cifar-quick, or a YAML file: docs/use/models.md)", NULL},
    {"best automl any", "write --model auto (joins several)", NULL},
};

static const row rules[] = {
    {"adamwithdecay decoupledadam adamwdecay fusedadamw", "write --rule adamw", NULL},
    {"sgdm sgdmomentum sgdwithmomentum heavyball msgd", "write --rule momentum:0.9", NULL},
    {"nag nesterovsgd sgdnesterov nesterovs", "write --rule nesterov:0.9", NULL},
    {"rmspropalexnet rms", "write --rule rmsprop:0.9", NULL},
    {"gd gradientdescent bgd batchgradientdescent asgd averagedsgd", "write --rule sgd", NULL},
    {"lbfgs bfgs newton newtoncg newtoncholesky trustregion tron sag saga liblinear cg lm "
     "dual coordinatedescent irls",
     "drove has stochastic rules alone (drove list rules); adagrad is the usual one of "
     "linear models",
     NULL},
    {"ftrl ftrlproximal", "write --rule adagrad (its relative without the L1 penalty)", NULL},
    {"lamb lars lion nadam radam amsgrad adamax adadelta adafactor adabelief adan sophia "
     "shampoo soap ranger lookahead sam prodigy dadaptation rprop rmspropw "
     "sparseadam adam8bit adamw8bit yogi novograd schedulefree qhadam madgrad apollo",
     "drove has none of that name (drove list rules); adam is the usual one of networks", NULL},
};

#define OWN_LOSS                                                                                   \
    "drove has none of that name (drove list losses); a function of your own may be one: loss= "   \
    "in Python (docs/use/python.md), drove_options_set_loss in C"

static const row losses[] = {
    {"crossentropy crossentropyloss ce categoricalcrossentropy "
     "sparsecategoricalcrossentropy nll nllloss logsoftmax multiclass multilogloss "
     "multinomial softmaxcrossentropy softmaxwithloss multisoftprob multisoftmax xent cce "
     "multinomiallogistic",
     "write --loss softmax", NULL},
    {"bce bceloss bcewithlogits bcewithlogitsloss binarycrossentropy binary "
     "binarylogistic logloss log binarylogloss deviance bernoulli logisticloss "
     "sigmoidcrossentropyloss negloglikelihood",
     "write --loss logistic (of two classes; sigmoid for labels, softmax for more)", NULL},
    {"mse mseloss l2 l2loss meansquarederror squarederror regression rmse regsquarederror "
     "gaussian leastsquares ols euclidean euclideanloss quadratic squaredloss "
     "rootmeansquarederror",
     "write --loss squared", NULL},
    {"hingeloss svm marginloss maxmargin multimargin multimarginloss", "write --loss hinge", NULL},
    {"mae l1 l1loss meanabsoluteerror absoluteerror huber smoothl1 smoothl1loss quantile "
     "pinball poisson tweedie gamma mape msle logcosh focal focalloss kl kld kldivloss "
     "squaredhinge modifiedhuber triplet tripletmargin contrastive ctc cosine "
     "cosinesimilarity dice iou epsiloninsensitive lambdarank pairwise ranknet fair "
     "negbinomial",
     OWN_LOSS, NULL},
};

static const row schedules[] = {
    {"reducelronplateau reduceonplateau onplateau adaptive", "write --schedule plateau", NULL},
    {"steplr multistep multisteplr piecewise stepdecay",
     "write --schedule step:0.1,30 (times 0.1 after every 30 epochs)", NULL},
    {"exponentiallr exp exponentialdecay", "write --schedule exponential:0.95", NULL},
    {"cosineannealing cosineannealinglr cosinedecay cosineannealingwarmrestarts cosinelr "
     "warmrestarts sgdr",
     "write --schedule cosine:EPOCHS", NULL},
    {"cosinewithwarmup warmupcosine linearwarmupcosine cosinewarmup",
     "write --schedule warmup:EPOCHS+cosine:EPOCHS", NULL},
    {"linearwithwarmup warmuplinear", "write --schedule warmup:EPOCHS+linear:EPOCHS", NULL},
    {"constantwithwarmup warmupconstant", "write --schedule warmup:EPOCHS", NULL},
    {"onecycle onecyclelr cyclic cycliclr triangular 1cycle",
     "drove has no cycles; the nearest is --schedule warmup:EPOCHS+cosine:EPOCHS", NULL},
    {"poly polynomial polynomiallr polydecay", "write --schedule linear:EPOCHS (the power 1)",
     NULL},
    {"inv invscaling inversetime inversetimedecay optimal invsqrt inversesqrt",
     "write --schedule inverse:K", NULL},
    {"fixed none const no off", "write --schedule constant", NULL},
};

static const row activations[] = {
    {"logistic sigm", "write sigmoid", NULL},
    {"leakyrelu lrelu", "write leaky_relu", NULL},
    {"swish", "write silu", NULL},
    {"hardswish", "write hard_swish", NULL},
    {"hardsigmoid", "write hard_sigmoid", NULL},
    {"celu", "write elu", NULL},
    {"prelu softsign glu swiglu maxout rrelu",
     "drove has none of that name (drove list activations)", NULL},
    {"identity linear none",
     "drove has none of that name: --model linear and logistic have no hidden layers", NULL},
};

static const row initialisations[] = {
    {"kaiming* msra* henormal heuniform", "write he:1", NULL},
    {"glorot* xavieruniform xaviernormal", "write xavier:1", NULL},
    {"gaussian truncatednormal truncnormal randomnormal randn", "write normal:0.01", NULL},
    {"orthogonal zeros zero ones constant uniform randomuniform identity eye pretrained imagenet",
     "drove has none of that name (drove list inits); pytorch:FILE takes parameters from a file",
     NULL},
};

static const row strategies[] = {
    {"ddp distributeddataparallel horovod mirrored multiworkermirrored nccl gloo",
     "write --strategy allreduce under mpirun (docs/use/cluster.md)", NULL},
    {"dp dataparallel", "write --strategy sync (or accumulate, for several devices)", NULL},
    {"ps parameterserver paramserver downpour async asynchronous", "write --strategy psgd-async",
     NULL},
    {"fsdp deepspeed zero pipeline modelparallel tensorparallel megatron",
     "drove keeps whole models; --strategy allreduce divides the rows", NULL},
    {"localsgd fedavg federated postlocalsgd", "write --strategy local", NULL},
    {"single singlethread serial none default", "write --strategy sequential", NULL},
    {"lockfree", "write --strategy leashed (or hogwild)", NULL},
    {"dask spark ray joblib",
     "drove shares a model between threads, devices and MPI ranks (drove list strategies)", NULL},
};

static const row workers[] = {
    {"gpu gpu* nvidia cuda", "write cuda:0", NULL},
    {"rocm hip amd intel xpu oneapi sycl vulkan mps metal",
     "write opencl:0 where the device has OpenCL (drove info lists the devices)", NULL},
    {"tpu npu ane", "drove has none of that kind", NULL},
    {"auto all both", "write threads:all+cuda:0", NULL},
};

static const row formats[] = {
    {"imagefolder folder dir imagedirectory imagenet",
     "write images:DIR (with a folder for each class)", NULL},
    {"svmlight svm sparse liblinear", "write libsvm:FILE", NULL},
    {"tsv excelcsv pandas dataframe tabular text", "write table:FILE", NULL},
    {"numpy array arrays", "write npz:FILE.npz (or npy:X.npy,y.npy)", NULL},
    {"fashionmnist kmnist emnist qmnist", "write mnist:DIR (a folder with files like MNIST's)",
     NULL},
    {"cifar", "write cifar10:FILES", NULL},
    {"wds tar", "write webdataset:FILES", NULL},
};

static const row keys[] = {
    {"delimiter delim separator fieldsep", "write sep=", NULL},
    {"target y response labelcol targetcol labelcolumn", "write label=", NULL},
    {"drop exclude dropcolumns skip", "write ignore=", NULL},
    {"usecols select features include", "write columns=", NULL},
    {"dtype dtypes type schema", "write types=COLUMN:number", NULL},
    {"weight sampleweight", "write weights=", NULL},
    {"hasheader headers", "write header=yes", NULL},
    {"resize imgsize imagesize img imgsz shape", "write size=", NULL},
    {"flip hflip horizontalflip fliplr", "write mirror=1", NULL},
    {"rotation degrees", "write rotate=", NULL},
    {"randomcrop cropsize", "write crop=", NULL},
    {"padding", "write pad=", NULL},
    {"gray grey grayscale greyscale", "write channels=1", NULL},
    {"rgb color colour", "write channels=3", NULL},
    {"normalize normalise standardize standardise scaler", "write scale=standard (or unit)", NULL},
    {"robustscaler quantile quantiles", "write scale=robust", NULL},
    {"testsize test valsplit", "write split=0.2", NULL},
    {"lr learningrate momentum",
     "a rule's numbers stand behind its name: momentum:0.9; --lr is an option of its own", NULL},
    {"dropoutrate", "write dropout=", NULL},
};

static const row conditions[] = {
    {"maxepochs nepochs passes", "write epochs=", NULL},
    {"iterations iters steps maxsteps", "write updates=", NULL},
    {"time minutes hours maxtime timeout", "write seconds=", NULL},
    {"earlystopping earlystop niternochange", "write patience=", NULL},
    {"val valid validationsplit holdout", "write validation=10%,patience=5", NULL},
    {"acc score", "write accuracy=", NULL},
    {"error err", "write accuracy= (1 less the error)", NULL},
};

/* Of Caffe's solver, which names the network instead of describing it. */
static const row fields[] = {
    {"net trainnet testnet netparam baselr lrpolicy testiter testinterval maxiter "
     "snapshot snapshotprefix solvermode weightdecay momentum gamma stepsize power "
     "display solvertype stepvalue averageloss itersize clipgradients",
     "this is a solver's file: --model takes the network's, which its \"net\" names; "
     "base_lr is --lr, max_iter --until updates=, momentum --rule momentum:0.9, "
     "weight_decay --weight-decay, lr_policy --schedule",
     NULL},
};

static const struct {
    const char *what;
    const row *rows;
    size_t n;
} tables[] = {
    {"option", options, DROVE_COUNT(options)},
    {"option of tune", tune_options, DROVE_COUNT(tune_options)},
    {"option of eval", use_options, DROVE_COUNT(use_options)},
    {"option of predict", use_options, DROVE_COUNT(use_options)},
    {"option of export", export_options, DROVE_COUNT(export_options)},
    {"command", commands, DROVE_COUNT(commands)},
    {"model", models, DROVE_COUNT(models)},
    {"rule", rules, DROVE_COUNT(rules)},
    {"loss", losses, DROVE_COUNT(losses)},
    {"schedule", schedules, DROVE_COUNT(schedules)},
    {"activation", activations, DROVE_COUNT(activations)},
    {"initialisation", initialisations, DROVE_COUNT(initialisations)},
    {"strategy", strategies, DROVE_COUNT(strategies)},
    {"kind of worker", workers, DROVE_COUNT(workers)},
    {"format", formats, DROVE_COUNT(formats)},
    {"key of a spec", keys, DROVE_COUNT(keys)},
    {"condition", conditions, DROVE_COUNT(conditions)},
    {"field of a network file", fields, DROVE_COUNT(fields)},
};

/* In lower case, without what joins words; of a file's name with its points. */
static void normalise(const char *word, bool keeps_points, char *into, size_t size)
{
    size_t n = 0;
    for (; *word != '\0' && n + 1 < size; word++) {
        if (*word == '-' || *word == '_' || *word == ' ' || *word == ':') continue;
        if (*word == '.' && !keeps_points) continue;
        into[n++] = (char)tolower((unsigned char)*word);
    }
    into[n] = '\0';
}

static bool matches(const char *word, const char *pattern, size_t n)
{
    size_t n_word = strlen(word);
    if (pattern[0] == '*')
        return n_word >= n - 1 && memcmp(word + n_word - (n - 1), pattern + 1, n - 1) == 0;
    if (pattern[n - 1] == '*') return strncmp(word, pattern, n - 1) == 0;
    return n_word == n && memcmp(word, pattern, n) == 0;
}

static bool has_word(const row *r, const char *plain, const char *file)
{
    for (const char *at = r->words; *at != '\0';) {
        size_t n = strcspn(at, " ");
        if (matches(at[0] == '*' ? file : plain, at, n)) return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

/* What stands for '@': the value that was given where it is of the kind that is asked for. */
static void print_value(const char *kind, const char *given, char *into, size_t size)
{
    const char *end = NULL;
    float number = 0.0F;
    const bool is_number = given != NULL &&
                           drove__scan_float(given, given + strlen(given), &end, &number) &&
                           *end == '\0' && number >= 0.0F;
    if (strcmp(kind, "PART") == 0) {
        if (is_number && number < 1.0F) snprintf(into, size, "%g%%", 100.0 * (double)number);
        else if (is_number) snprintf(into, size, "%.40s", given);
        else snprintf(into, size, "10%%");
    } else if (strcmp(kind, "N") == 0 || strcmp(kind, "NUMBER") == 0) {
        snprintf(into, size, "%.40s", is_number ? given : kind);
    } else {
        snprintf(into, size, "%.80s", given != NULL ? given : kind);
        if (strcmp(kind, "RULE") == 0 && given != NULL) /* PyTorch's Adam is our adam */
            for (char *c = into; *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
    }
}

/* An option whose value is another program's word, too. */
static bool answer_of_value(const row *r, const char *value, char *into, size_t size)
{
    char other[DROVE_OTHER_SIZE];
    const char *what = r->value == NULL                ? NULL
                       : strcmp(r->value, "RULE") == 0 ? "rule"
                       : strcmp(r->value, "LOSS") == 0 ? "loss"
                                                       : NULL;
    if (what == NULL || value == NULL || !drove__other_word(what, value, NULL, other, sizeof other))
        return false;
    const bool is_whole = strncmp(other, "write --", 8) == 0;
    snprintf(into, size, "%s%s%s%s", is_whole ? "" : "write --", is_whole ? "" : what,
             is_whole ? "" : " NAME; ", other);
    return true;
}

bool drove__other_word(const char *what, const char *word, const char *value, char *into,
                       size_t size)
{
    char plain[64], file[256], shown[96] = "";
    const size_t n_word = strlen(word);
    normalise(word, false, plain, sizeof plain);
    normalise(word + (n_word < sizeof file ? 0 : n_word - sizeof file + 1), true, file,
              sizeof file);
    into[0] = '\0';
    if (n_word == 0) return false;
    for (size_t t = 0; t < DROVE_COUNT(tables); t++) {
        if (strcmp(tables[t].what, what) != 0) continue;
        for (size_t i = 0; i < tables[t].n; i++) {
            const row *r = &tables[t].rows[i];
            if (!has_word(r, plain, file)) continue;
            if (answer_of_value(r, value, into, size)) return true;
            const char *at = r->value != NULL ? strchr(r->answer, '@') : NULL;
            if (at != NULL) print_value(r->value, value, shown, sizeof shown);
            if (at == NULL) snprintf(into, size, "%s", r->answer);
            else snprintf(into, size, "%.*s%s%s", (int)(at - r->answer), r->answer, shown, at + 1);
            return true;
        }
    }
    return false;
}

bool drove__other_word_at(size_t i, const char **what, const char **words, const char **answer)
{
    for (size_t t = 0; t < DROVE_COUNT(tables); t++) {
        if (i < tables[t].n) {
            *what = tables[t].what;
            *words = tables[t].rows[i].words;
            *answer = tables[t].rows[i].answer;
            return true;
        }
        i -= tables[t].n;
    }
    return false;
}
