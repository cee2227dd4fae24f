"""The jobs in which tests/jobs/keys changes one key at a time."""
import copy
import os

FROZEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'testdata', 'saved_models', 'frozen_graph.pb')
COMMANDS = [
    ['plan', '--json'],
    ['train-and-evaluate', '--json', '--progress', 'off'],
    ['predict', '--limit', '5', '--progress', 'off'],
    ['export', '--json'],
]
RUN_ONLY = COMMANDS[:2]

X = [[((3 * i + 5 * j) % 11 - 5) * 0.25 for j in range(16)] for i in range(8)]
ROWS = {
    'x': X, 'y': [0, 1, 2, 0, 1, 2, 0, 1], 'yes': [0, 1, 1, 0, 1, 0, 0, 1],
    'price': [0.5, 1.5, 2.0, 0.25, 1.0, 3.0, 2.5, 0.75], 'count': [0, 1, 3, 2, 5, 1, 0, 2],
    'rate': [0.1, 0.9, 0.5, 0.3, 0.8, 0.2, 0.6, 0.4], 'w': [1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 0.0, 1.0],
    'tags': [[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]],
    'label': ['red', 'green', 'blue', 'red', 'green', 'blue', 'red', 'green'],
    'two': ['red', 'green', 'red', 'red', 'green', 'green', 'red', 'green'],
    'z': [row[::-1] for row in X],
}
TABLE = {
    'y': [0, 1, 2, 0, 1, 2, 0, 1], 'yes': [0, 1, 1, 0, 1, 0, 0, 1], 'price': ROWS['price'], 'w': ROWS['w'],
    'w2': [2.0, 1.0, 1.0, 0.5, 1.0, 3.0, 1.0, 1.0],
    'number': [0.5, 1.5, -2.0, 3.0, 0.0, 2.5, -1.0, 4.0], 'other': [2.0, 0.5, 1.0, -3.0, 1.0, 0.25, 2.0, 4.0],
    'id': [0, 1, 2, 3, 9, 1, 2, 0], 'id2': [3, 2, 1, 0, 0, 1, 2, 3],
    'word': ['red', 'green', 'blue', 'black', 'pink', 'red', 'blue', 'green'],
    'word2': ['blue', 'black', 'pink', 'red', 'red', 'green', 'blue', 'green'],
    'words': [['red', 'green'], ['blue', 'pink'], ['red', 'red'], ['green', 'black'], ['red', 'blue'],
              ['blue', 'blue'], ['pink', 'green'], ['black', 'red']],
    'words2': [['blue', 'red'], ['blue', 'pink'], ['green', 'red'], ['green', 'pink'], ['red', 'red'],
               ['pink', 'blue'], ['pink', 'green'], ['green', 'red']],
    'weights': [[1.0, 2.0], [0.5, 1.0], [1.0, 1.0], [3.0, 1.0], [1.0, 0.25], [2.0, 1.0], [1.0, 1.0], [1.0, 4.0]],
    'weights2': [[2.0, 1.0], [1.5, 1.0], [0.5, 1.0], [1.0, 1.0], [1.0, 0.5], [2.0, 3.0], [1.0, 2.0], [1.0, 1.0]],
}


def job_of(**changes):
    """A small job; a change replaces a key, whose sections are joined by `__`."""
    source = {'type': 'from_tensor_slices', 'values': {'x': X, 'y': ROWS['y']}}
    train = {'source': source, 'features': ['x'], 'labels': 'y', 'shuffle': {'buffer_size': 'full'}}
    test = {'source': source, 'features': ['x'], 'labels': 'y'}
    job = {
        'version': 1, 'name': 'keys', 'use_tpu': True,
        'train_batch_size': 4, 'eval_batch_size': 4, 'predict_batch_size': 4,
        'run_config': {
            'model_dir': 'run', 'tf_random_seed': 1, 'save_checkpoints_steps': 2, 'save_summary_steps': 1,
            'log_step_count_steps': 1, 'tpu_config': {'iterations_per_loop': 1, 'num_shards': 2}},
        'input_fns': {'train': train, 'test': test},
        'model': {'type': 'Sequential', 'layers': [{'type': 'dense', 'units': 3}],
                  'head': {'type': 'MultiClassHead', 'n_classes': 3}},
        'optimizer': {'type': 'GradientDescentOptimizer', 'learning_rate': 0.1},
        'train_spec': {'input_fn': 'train', 'max_steps': 4},
        'eval_spec': {'input_fn': 'test', 'steps': None},
        'export': {'serving_input_receiver_fn': {'type': 'build_raw_serving_input_receiver_fn'}},
        'tpuest': {'fsync': False},
    }
    for key, value in changes.items():
        section = job
        *path, last = key.split('__')
        for name in path:
            section = section.setdefault(name, {})
        section[last] = copy.deepcopy(value)
    return job


def with_rows(job, columns, features, labels, rows):
    """The job with other columns as its features and labels."""
    for input_fn in job['input_fns'].values():
        input_fn['source'] = {'type': 'from_tensor_slices', 'values': {name: rows[name] for name in columns}}
        input_fn['features'], input_fn['labels'] = features, labels
    return job


def of_types(place, samples, make, focus, **more):
    """A fixture for each sample of one place; `make` gives the job with a sample in it."""
    for sample in samples:
        key = 'op' if 'op' in sample else 'type'
        owner = SECTIONS.get((place, sample[key]), sample[key])
        yield {'name': f'{place} {sample[key]}', 'job': make(copy.deepcopy(sample)), 'focus': focus,
               'shows': (place, owner, key), **more}


# Names of sections that share their word with a section of another place.
SECTIONS = {('layers', 'reshape'): 'reshape_', ('metrics', 'mean_squared_error'): 'mean_squared_error_',
            ('schedules', 'constant'): 'constant_', ('warmup', 'constant'): 'constant__'}

AVERAGE = {'decay': 0.9, 'num_updates': None, 'use_in_eval': True}
OPTIMIZERS = [
    {'type': 'GradientDescentOptimizer', 'learning_rate': 0.1},
    {'type': 'MomentumOptimizer', 'learning_rate': 0.1, 'momentum': 0.9},
    {'type': 'AdamOptimizer', 'learning_rate': 0.1},
    {'type': 'AdagradOptimizer', 'learning_rate': 0.1},
    {'type': 'RMSPropOptimizer', 'learning_rate': 0.1, 'momentum': 0.5},
    {'type': 'FtrlOptimizer', 'learning_rate': 0.1},
    {'type': 'LARSOptimizer', 'learning_rate': 5.0},
    {'type': 'AdamWeightDecayOptimizer', 'learning_rate': 0.1, 'weight_decay_rate': 0.5},
]
KERAS_OPTIMIZERS = [
    {'type': 'SGD', 'learning_rate': 0.1, 'momentum': 0.5}, {'type': 'Adam', 'learning_rate': 0.1},
    {'type': 'RMSprop', 'learning_rate': 0.1, 'momentum': 0.5}, {'type': 'Adagrad', 'learning_rate': 0.1},
    {'type': 'Ftrl', 'learning_rate': 0.1},
]
SCHEDULES = [
    {'type': 'constant', 'learning_rate': 0.1},
    {'type': 'exponential_decay', 'learning_rate': 0.1, 'decay_steps': 2, 'decay_rate': 0.5},
    {'type': 'natural_exp_decay', 'learning_rate': 0.1, 'decay_steps': 2, 'decay_rate': 0.5},
    {'type': 'inverse_time_decay', 'learning_rate': 0.1, 'decay_steps': 2, 'decay_rate': 0.5},
    {'type': 'polynomial_decay', 'learning_rate': 0.1, 'decay_steps': 2, 'end_learning_rate': 0.01, 'power': 2.0},
    {'type': 'piecewise_constant', 'boundaries': [1, 2], 'values': [0.1, 0.05, 0.02]},
    {'type': 'cosine_decay', 'learning_rate': 0.1, 'decay_steps': 3},
    {'type': 'cosine_decay_restarts', 'learning_rate': 0.1, 'first_decay_steps': 1, 't_mul': 2.0, 'm_mul': 0.5},
]
WARMUPS = [{'type': 'linear', 'warmup_steps': 3, 'warmup_learning_rate': 0.05},
           {'type': 'constant', 'warmup_steps': 3, 'warmup_learning_rate': 0.05}]
INITIALIZERS = [{'type': name} for name in (
    'zeros', 'ones', 'random_uniform', 'random_normal', 'truncated_normal',
    'glorot_uniform', 'glorot_normal', 'he_uniform', 'he_normal', 'lecun_uniform', 'lecun_normal')]
INITIALIZERS += [{'type': 'constant', 'value': 0.5}, {'type': 'variance_scaling', 'scale': 3.0}]
REGULARIZERS = [{'type': 'l1', 'l1': 0.1}, {'type': 'l2', 'l2': 0.1}, {'type': 'l1_l2', 'l1': 0.1, 'l2': 0.1}]
LAYERS = [
    {'type': 'dense', 'units': 3}, {'type': 'conv2d', 'filters': 2, 'kernel_size': 2},
    {'type': 'depthwise_conv2d', 'kernel_size': 2}, {'type': 'separable_conv2d', 'filters': 2, 'kernel_size': 2},
    {'type': 'max_pooling2d', 'pool_size': 3}, {'type': 'average_pooling2d', 'pool_size': 3},
    {'type': 'global_average_pooling2d'}, {'type': 'global_max_pooling2d'}, {'type': 'batch_normalization'},
    {'type': 'dropout', 'rate': 0.3}, {'type': 'flatten'}, {'type': 'reshape', 'shape': [2, 4, 2]},
    {'type': 'transpose', 'perm': [0, 2, 1, 3]}, {'type': 'activation', 'activation': 'relu'},
]
THRESHOLDED = [('precision', 0.5), ('recall', 0.5), ('binary_accuracy', 0.5), ('true_positives', 0.5),
               ('true_negatives', 0.5), ('false_positives', 0.0), ('false_negatives', 0.5)]
METRICS = [
    {'type': 'auc', 'num_thresholds': 20}, *({'type': name, 'name': 'counted', 'threshold': threshold} for name, threshold in THRESHOLDED),
    {'type': 'sensitivity_at_specificity', 'specificity': 0.6, 'num_thresholds': 20},
    {'type': 'specificity_at_sensitivity', 'sensitivity': 0.6, 'num_thresholds': 20},
    {'type': 'precision_at_recall', 'recall': 0.6, 'num_thresholds': 20},
    {'type': 'recall_at_precision', 'precision': 0.6, 'num_thresholds': 20},
]
HEADS = [
    ({'type': 'MultiClassHead', 'n_classes': 3, 'weight_column': 'w'}, 'y'),
    ({'type': 'BinaryClassHead', 'weight_column': 'w'}, 'yes'),
    ({'type': 'MultiLabelHead', 'n_classes': 3, 'weight_column': 'w', 'thresholds': [0.3]}, 'tags'),
    ({'type': 'RegressionHead', 'weight_column': 'w'}, 'price'),
    ({'type': 'PoissonRegressionHead', 'weight_column': 'w'}, 'id'),
    ({'type': 'LogisticRegressionHead', 'weight_column': 'w'}, 'rate'),
]
COLUMNS = {
    'numbers': {'type': 'numeric_column', 'key': 'number', 'default_value': 1.0},
    'ages': {'type': 'bucketized_column', 'source_column': 'numbers', 'boundaries': [0.0, 2.0]},
    'ids': {'type': 'categorical_column_with_identity', 'key': 'id', 'num_buckets': 5, 'default_value': 0},
}
CANNED = ['LinearClassifier', 'LinearRegressor', 'LinearEstimator', 'DNNClassifier', 'DNNRegressor',
          'DNNEstimator', 'DNNLinearCombinedClassifier', 'DNNLinearCombinedRegressor',
          'DNNLinearCombinedEstimator', 'BaselineClassifier', 'BaselineRegressor', 'BaselineEstimator']


def canned(kind, **more):
    """A job with one of the canned models, and a table for it."""
    label = 'price' if 'Regressor' in kind else 'yes'
    model = {'type': kind, **more}
    sgd = {'type': 'SGD', 'learning_rate': 0.1}
    if 'Combined' in kind:
        model = {'linear_feature_columns': ['numbers', 'mixed'], 'linear_optimizer': sgd,
                 'dnn_feature_columns': ['numbers'], 'dnn_optimizer': sgd, 'dnn_hidden_units': [4],
                 'dnn_dropout': 0.2, **model}
    else:
        model['optimizer'] = model.get('optimizer', sgd)
        if 'Baseline' not in kind:
            model['feature_columns'] = ['numbers', 'mixed'] if 'Linear' in kind else ['numbers']
        if 'DNN' in kind:
            model.update({'hidden_units': [4], 'dropout': 0.2})
    if 'Estimator' in kind:
        model['head'] = {'type': 'LogisticRegressionHead'}
    job = job_of(model=model, feature_columns={
        **COLUMNS, 'others': {'type': 'numeric_column', 'key': 'other'}, 'mixed': {
        'type': 'categorical_column_with_vocabulary_list', 'key': 'words',
        'vocabulary_list': ['red', 'green', 'blue']}})
    del job['optimizer']
    names = ['number', 'other', 'words', 'w']
    return with_rows(job, [*names, label], names, label, TABLE)


def columned(name, columns, deep, rows=TABLE):
    """A job whose model reads one column, over the features of `rows`."""
    model = {'type': 'DNNClassifier', 'hidden_units': [3], 'feature_columns': [name],
             'optimizer': {'type': 'SGD', 'learning_rate': 0.1}}
    if not deep:
        model['type'] = 'LinearClassifier'
        del model['hidden_units']
    job = job_of(model=model, feature_columns=columns, export__serving_input_receiver_fn={'type': 'both'})
    del job['optimizer']
    names = ['number', 'other', 'id', 'id2', 'word', 'word2', 'words', 'words2', 'weights', 'weights2']
    return with_rows(job, [*names, 'yes'], names, 'yes', rows)


def feature_column_fixtures():
    words = {'key': 'word', 'vocabulary_list': ['red', 'green', 'blue']}
    file = {'key': 'word', 'vocabulary_file': 'words.txt'}
    hashed = {'key': 'word', 'hash_bucket_size': 7}
    ids = {'key': 'id', 'num_buckets': 5, 'default_value': 0}
    several = {'type': 'categorical_column_with_vocabulary_list', 'key': 'words',
               'vocabulary_list': ['red', 'green', 'blue', 'black']}
    also = {**several, 'key': 'words2', 'vocabulary_list': ['blue', 'pink', 'green', 'red']}
    linear = [COLUMNS['numbers'], {**COLUMNS['numbers'], 'normalizer_fn': {'type': 'z_score', 'mean': 1.0, 'std': 2.0}},
              {**COLUMNS['numbers'], 'normalizer_fn': {'type': 'min_max', 'min': -2.0, 'max': 2.0}},
              COLUMNS['ages'], {'type': 'categorical_column_with_vocabulary_list', **words},
              {'type': 'categorical_column_with_vocabulary_file', **file},
              {'type': 'categorical_column_with_hash_bucket', **hashed},
              {'type': 'categorical_column_with_identity', **ids},
              {'type': 'weighted_categorical_column', 'categorical_column': 'several', 'weight_feature_key': 'weights'},
              {'type': 'crossed_column', 'keys': ['word', 'word2'], 'hash_bucket_size': 9}]
    deep = [{'type': 'indicator_column', 'categorical_column': 'several'},
            {'type': 'embedding_column', 'categorical_column': 'several', 'dimension': 2, 'max_norm': 0.3},
            {'type': 'shared_embedding_columns', 'categorical_columns': ['several', 'also'], 'dimension': 2,
             'max_norm': 0.3}]
    for of, columns in ((False, linear), (True, deep)):
        for i, column in enumerate(columns):
            others = {**COLUMNS, 'several': several, 'also': also, 'others': {**COLUMNS['numbers'], 'key': 'other'}}
            job = columned('tried', {**others, 'tried': column}, of)
            fixture = {'name': f"column {i} {column['type']}", 'job': job, 'focus': [('feature_columns', 'tried')]}
            normalizer = column.get('normalizer_fn')
            shown = ('normalizer', normalizer['type'], 'type') if normalizer else ('column', column['type'], 'type')
            yield {**fixture, 'shows': shown}
    for kind, more in (('vocabulary_list', words), ('vocabulary_file', file), ('hash_bucket', hashed),
                       ('identity', ids)):
        column = {'type': f'sequence_categorical_column_with_{kind}', **more,
                  'key': 'ids' if kind == 'identity' else 'words'}
        yield sequence_fixture(column, {'type': 'embedding_column', 'categorical_column': 'steps', 'dimension': 2})
    yield sequence_fixture({'type': 'sequence_numeric_column', 'key': 'z'}, None)
    embedded = {'type': 'embedding_column', 'categorical_column': 'steps', 'dimension': 2}
    for kind, more in (('vocabulary_list', {'vocabulary_list': [0, 2, 1], 'dtype': 'string'}), ('hash_bucket', {'hash_bucket_size': 7}),
                       ('vocabulary_file', {'vocabulary_file': 'ids.txt'})):
        kind = f'categorical_column_with_{kind}'
        fixture = sequence_fixture({'type': f'sequence_{kind}', 'key': 'ids', **more}, embedded)
        yield {**fixture, 'name': f'sequence_{kind} of ids'}
        yield {'name': f'{kind} of ids', 'job': columned('tried', {**COLUMNS, 'tried': {
            'type': kind, 'key': 'id', **more}}, False), 'focus': [('feature_columns', 'tried')], 'codes': range(10)}
    for key, dtype in (('weights', 'float32'), ('id', 'int32')):
        yield {'name': f'numeric_column of {key}', 'job': columned('tried', {**COLUMNS, 'tried': {
            'type': 'numeric_column', 'key': key, 'dtype': dtype}}, False),
            'focus': [('feature_columns', 'tried')], 'codes': range(10), 'values': {'shape': [2, [2]]}}
    job = canned('LinearClassifier')
    others = {**job['feature_columns'], 'numbers': {'type': 'numeric_column', 'key': 'other'}}
    yield {'name': 'columns', 'job': job, 'focus': [('feature_columns',)], 'values': {'feature_columns': [others]}}


def sequence_fixture(column, around):
    columns = {'steps': column, **({'tried': around} if around else {})}
    job = columned('tried' if around else 'steps', columns, True)
    for input_fn in job['input_fns'].values():
        input_fn.update({'source': {'type': 'TFRecordDataset', 'filenames': ['table.tfrecord']}, 'labels': 'y',
                         'features': ['ids', 'words', 'z', 'idz', 'wordz', 'zz'],
                         'map': [{'op': 'cast', 'in': name, 'dtype': 'int32'} for name in ('ids', 'idz', 'y')],
                         'parse_example': {
                             'ids': {'type': 'VarLenFeature', 'dtype': 'int64'},
                             'words': {'type': 'VarLenFeature', 'dtype': 'string'},
                             'wordz': {'type': 'VarLenFeature', 'dtype': 'string'},
                             'idz': {'type': 'VarLenFeature', 'dtype': 'int64'},
                             'z': {'type': 'VarLenFeature', 'dtype': 'float32'},
                             'zz': {'type': 'VarLenFeature', 'dtype': 'float32'},
                             'y': {'type': 'FixedLenFeature', 'shape': [], 'dtype': 'int64'}}})
    job['model']['n_classes'] = 3
    return {'name': column['type'], 'job': job, 'focus': [('feature_columns', 'steps')], 'codes': range(10),
            'shows': ('column', column['type'], 'type'), 'commands': RUN_ONLY}


def headed(head, label):
    """A linear model with a head; rows have weights in two columns."""
    job = job_of(model={'type': 'LinearEstimator', 'head': head, 'feature_columns': ['numbers'],
                        'optimizer': {'type': 'SGD', 'learning_rate': 0.1}},
                 feature_columns=COLUMNS)
    del job['optimizer']
    rows = {**TABLE, 'tags': ROWS['tags'], 'rate': ROWS['rate'], 'label': ROWS['label']}
    return with_rows(job, ['number', 'w', 'w2', label], ['number', 'w', 'w2'], label, rows)


def model_fixtures():
    def layered(layer):
        return job_of(model__layers=[{'type': 'reshape', 'shape': [4, 4, 1]}, layer, {'type': 'flatten'},
                                     {'type': 'dense', 'units': 3}], optimizer__learning_rate=0.5)
    yield from of_types('layers', LAYERS, layered, [('model', 'layers', 1)], commands=COMMANDS[:3])
    yield from of_types('initializers', INITIALIZERS,
                        lambda s: job_of(model__layers=[{'type': 'dense', 'units': 3, 'kernel_initializer': s}]),
                        [('model', 'layers', 0, 'kernel_initializer')], commands=RUN_ONLY)
    yield from of_types('regularizers', REGULARIZERS,
                        lambda s: job_of(model__layers=[{'type': 'dense', 'units': 3, 'kernel_regularizer': s}]),
                        [('model', 'layers', 0, 'kernel_regularizer')], commands=RUN_ONLY)
    for head, label in HEADS:
        yield {'name': head['type'], 'job': headed(head, label), 'focus': [('model', 'head')],
               'shows': ('head', head['type'], 'type')}
    yield {'name': 'mean_squared_error', 'shows': ('head', 'mean_squared_error', 'type'), 'focus': [('model', 'head')], 'job': with_rows(job_of(
        model__layers=[{'type': 'dense', 'units': 1}], model__head={'type': 'mean_squared_error'}),
        ['x', 'price'], ['x'], 'price', ROWS)}
    yield {'name': 'MultiLabelHead of four', 'job': headed({'type': 'MultiLabelHead', 'n_classes': 4}, 'tags'),
           'focus': [('model', 'head')], 'codes': range(10), 'values': {'n_classes': [3]}}
    for kind in ('RegressionHead', 'PoissonRegressionHead'):
        yield {'name': f'{kind} of two', 'job': headed({'type': kind}, 'weights'), 'focus': [('model', 'head')],
               'codes': range(10)}
        yield {'name': f'{kind} alone', 'job': headed({'type': kind}, 'price'), 'focus': [('model', 'head')]}
    words = [({'type': 'MultiClassHead', 'n_classes': 3, 'label_vocabulary': ['red', 'green', 'blue']}, 'label', 3),
             ({'type': 'BinaryClassHead', 'label_vocabulary': ['red', 'green']}, 'two', 1)]
    for head, label, units in words:
        job = job_of(model__head=head, model__layers=[{'type': 'dense', 'units': units}])
        yield {'name': head['type'] + ' words', 'job': with_rows(job, ['x', label], ['x'], label, ROWS),
               'focus': [('model', 'head')]}
    yield {'name': 'MultiHead', 'shows': ('head', 'MultiHead', 'type'), 'focus': [('model', 'head')],
           'job': with_rows(job_of(
               model__layers=[{'type': 'dense', 'units': 2}], model__head={
                   'type': 'MultiHead', 'head_weights': [1.0, 0.5],
                   'heads': [{'type': 'BinaryClassHead', 'name': 'yes'}, {'type': 'RegressionHead', 'name': 'price'}]}),
               ['x', 'yes', 'price'], ['x'], {'yes': 'yes', 'price': 'price'}, ROWS)}
    yield from metric_fixtures()
    image = [{'op': 'reshape', 'in': 'image', 'shape': [784]}, {'op': 'cast', 'in': 'image', 'dtype': 'float32'},
             {'op': 'rescaling', 'in': 'image', 'scale': 0.004}]
    digits = {'source': {'type': 'digits', 'count': 8}, 'map': image, 'features': ['image'], 'labels': 'label'}
    yield {'name': 'mnist_cnn', 'job': job_of(input_fns={'train': digits, 'test': digits}, train_spec__max_steps=1,
                                              model={'type': 'mnist_cnn', 'dropout_rate': 0.3}),
           'focus': [('model',)], 'commands': RUN_ONLY, 'shows': ('model', 'mnist_cnn', 'type')}
    yield {'name': 'Sequential', 'job': job_of(model__metrics=['accuracy'], model__l2_weight_decay={'rate': 0.1, 'exclude': []}),
           'focus': [('model',)], 'shows': ('model', 'Sequential', 'type')}
    yield {'name': 'Sequential trainable', 'job': job_of(), 'focus': [('model',)]}
    for kind in CANNED:
        yield {'name': kind, 'job': canned(kind), 'focus': [('model',)], 'shows': ('model', kind, 'type')}
    for kind in ('LinearRegressor', 'DNNRegressor', 'DNNLinearCombinedRegressor', 'BaselineRegressor'):
        names = ['number', 'other', 'words', 'w']
        yield {'name': kind + ' of two', 'job': with_rows(canned(kind), [*names, 'weights'], names, 'weights', TABLE),
               'focus': [('model',)], 'codes': range(10)}
    for kind in ('LinearClassifier', 'DNNClassifier', 'DNNLinearCombinedClassifier', 'BaselineClassifier'):
        names = ['number', 'other', 'words', 'w']
        job = with_rows(canned(kind, label_vocabulary=['red', 'green']), [*names, 'word'], names, 'word',
                        {**TABLE, 'word': ROWS['two']})
        yield {'name': kind + ' of three', 'focus': [('model',)],
               'job': with_rows(canned(kind, n_classes=3), [*names, 'y'], names, 'y', TABLE)}
        yield {'name': kind + ' words', 'job': job, 'focus': [('model',)]}


def metric_fixtures():
    yield from of_types('metrics', METRICS, lambda s: with_rows(
        job_of(model__layers=[{'type': 'dense', 'units': 1}], model__head={'type': 'BinaryClassHead'},
               model__metrics=[s]), ['x', 'yes'], ['x'], 'yes', ROWS), [('model', 'metrics', 0)], commands=RUN_ONLY)
    for kind in ('mean_absolute_error', 'mean_squared_error', 'root_mean_squared_error'):
        yield from of_types('metrics', [{'type': kind}], lambda s: with_rows(
            job_of(model__layers=[{'type': 'dense', 'units': 1}], model__head={'type': 'RegressionHead'},
                   model__metrics=[s]), ['x', 'price'], ['x'], 'price', ROWS), [('model', 'metrics', 0)],
            commands=RUN_ONLY)
    yield from of_types('metrics', [{'type': 'accuracy', 'name': 'right'}, {'type': 'recall_at_k', 'k': 2},
                                    {'type': 'mean', 'values': 'logits'}],
                        lambda s: job_of(model__metrics=[s]), [('model', 'metrics', 0)], commands=RUN_ONLY)


def optimizer_fixtures():
    for average in (None, AVERAGE):
        yield from of_types('optimizer' + (' average' if average else ''), OPTIMIZERS, lambda s: job_of(
            model__layers=[{'type': 'dense', 'units': 4, 'activation': 'tanh'}, {'type': 'dense', 'units': 3}],
            optimizer={**s, 'exponential_moving_average': average}), [('optimizer',)], commands=RUN_ONLY)
    yield from of_types('schedules', SCHEDULES, lambda s: job_of(optimizer__learning_rate=s, train_spec__max_steps=6),
                        [('optimizer', 'learning_rate')], commands=RUN_ONLY)
    yield from of_types('warmup', WARMUPS, lambda s: job_of(optimizer__learning_rate={
        'type': 'exponential_decay', 'learning_rate': 0.1, 'decay_steps': 2, 'decay_rate': 0.5, 'warmup': s}),
        [('optimizer', 'learning_rate', 'warmup')], commands=RUN_ONLY)
    for kind in ('DNNClassifier', 'DNNLinearCombinedClassifier'):
        key = 'dnn_optimizer' if 'Combined' in kind else 'optimizer'
        yield from of_types(f'{kind} optimizer', KERAS_OPTIMIZERS, lambda s: canned(kind, **{key: s}),
                            [('model', key)], commands=RUN_ONLY)


def input_fixtures():
    def read(source, features, labels, classes=3, **more):
        job = job_of(model__layers=[{'type': 'flatten'}, {'type': 'dense', 'units': classes}],
                     model__head={'type': 'MultiClassHead', 'n_classes': classes})
        for input_fn in job['input_fns'].values():
            input_fn.update({'source': source, 'features': features, 'labels': labels, **more})
        return job

    parsed = {'parse_example': {
        'z': {'type': 'FixedLenFeature', 'shape': [4], 'dtype': 'float32'},
        'z2': {'type': 'FixedLenFeature', 'shape': [4], 'dtype': 'float32', 'default_value': 3.0},
        'y2': {'type': 'FixedLenFeature', 'shape': [], 'dtype': 'int64', 'default_value': 1},
        'raw': {'type': 'FixedLenFeature', 'shape': [], 'dtype': 'string'},
        'more': {'type': 'FixedLenFeature', 'shape': [], 'dtype': 'string'},
        'missing': {'type': 'FixedLenFeature', 'shape': [4], 'dtype': 'float32', 'default_value': 1.0},
        'y': {'type': 'FixedLenFeature', 'shape': [], 'dtype': 'int64'}}}
    records = {'type': 'TFRecordDataset', 'filenames': ['table.tfrecord']}
    focus = [('input_fns', 'train')]

    def tabled(source, shapes, labels, **more):
        """A linear classifier, which takes many features: their names and shapes."""
        job = read(source, list(shapes), labels, **more)
        del job['optimizer']
        return {**job, 'feature_columns': {name: {'type': 'numeric_column', 'key': name, 'shape': shape}
                                           for name, shape in shapes.items()},
                'model': {'type': 'LinearClassifier', 'n_classes': 3, 'feature_columns': list(shapes),
                          'optimizer': {'type': 'SGD', 'learning_rate': 0.1}}}

    def flat(name, job, source=None, **more):
        shows = {'shows': ('source', source, 'type')} if source else {}
        return {'name': name, 'job': job, 'focus': focus, **shows, **more}

    label = {'op': 'cast', 'in': 'y', 'dtype': 'int32'}
    yield flat('records', tabled(records, {'z': 4, 'missing': 4}, 'y', map=[label], **parsed), 'TFRecordDataset')
    yield {'name': 'parsed', 'job': tabled(records, {'z': 4, 'missing': 4}, 'y', map=[label], **parsed),
           'focus': [('input_fns',)], 'shows': ('feature', 'FixedLenFeature', 'type')}
    ragged = {'parse_example': {**parsed['parse_example'], 'z': {'type': 'VarLenFeature', 'dtype': 'float32'}}}
    yield {'name': 'ragged', 'job': tabled(records, {'z': 4, 'missing': 4}, 'y', map=[label], **ragged),
           'focus': [('input_fns',)], 'shows': ('feature', 'VarLenFeature', 'type'), 'commands': RUN_ONLY}
    zipped = {**records, 'filenames': ['table.tfrecord.gz'], 'compression_type': ''}
    yield flat('zipped', tabled(zipped, {'z': 4}, 'y', map=[label], **parsed), codes=range(10))
    table = {'type': 'make_csv_dataset', 'file_pattern': 'table.csv', 'label_name': 'y', 'na_value': 'NA'}
    yield flat('csv', tabled(table, {'a': 1, 'b': 1}, 'y'), 'make_csv_dataset')
    columns = {**table, 'column_names': ['y', 'a', 'b'], 'column_defaults': [0, 0.0, 0.0]}
    yield flat('csv columns', tabled(columns, {'a': 1, 'b': 1}, 'y'), values={
        'source.column_names': [['y', 'b', 'a']], 'source.column_defaults': [[0, 0.0, 5.0]]})
    yield flat('csv typed', tabled({**columns, 'column_defaults': [
        0, {'dtype': 'float32', 'default_value': 0.0}, {'dtype': 'float32', 'default_value': 0.0}]},
        {'a': 1, 'b': 1}, 'y'))
    yield flat('csv header', tabled({**columns, 'file_pattern': 'bare.csv'}, {'a': 1, 'b': 1}, 'y'), codes=range(10))
    yield flat('csv delimiter', tabled({**table, 'file_pattern': 'semicolons.csv'}, {'a': 1, 'b': 1}, 'y'),
               codes=range(10), values={'field_delim': [';']})
    yield flat('csv quotes', tabled({**columns, 'file_pattern': 'semicolons.csv', 'field_delim': ';'},
                                    {'a': 1, 'b': 1}, 'y'), codes=range(10))
    yield flat('images', read({'type': 'idx', 'images': 'images.idx', 'labels': 'labels.idx'}, ['image'], 'label',
                              map=[{'op': 'cast', 'in': 'image', 'dtype': 'float32'}]), 'idx')
    yield flat('digits', read({'type': 'digits', 'count': 12, 'seed': 2}, ['image'], 'label', 10,
                              map=[{'op': 'cast', 'in': 'image', 'dtype': 'float32'},
                                   {'op': 'rescaling', 'in': 'image', 'scale': 0.0004, 'offset': 0.0}]), 'digits')
    yield flat('values', job_of(), 'from_tensor_slices')
    job = read({'type': 'range', 'start': 0, 'stop': 20, 'step': 2}, ['x'], 'value', 90, map=[
        {'op': 'cast', 'in': 'value', 'out': 'x', 'dtype': 'float32'}, {'op': 'reshape', 'in': 'x', 'shape': [1]},
        {'op': 'cast', 'in': 'value', 'dtype': 'int32'}])
    yield flat('range', job, 'range')
    number = {'op': 'decode_raw', 'in': 'raw', 'out': 'x', 'out_type': 'uint8', 'shape': [4]}
    after = [{'op': 'cast', 'in': 'x', 'dtype': 'float32'}, {'op': 'rescaling', 'in': 'x', 'scale': 0.1}]
    ops = [
        {**number, 'out_type': 'int16', 'shape': [2]}, {'op': 'cast', 'in': 'z', 'out': 'x', 'dtype': 'float32'},
        {'op': 'rescaling', 'in': 'z', 'out': 'x', 'scale': 0.5, 'offset': 0.5},
        {'op': 'reshape', 'in': 'z', 'out': 'x', 'shape': [2, 2]},
        {'op': 'one_hot', 'in': 'y', 'out': 'x', 'depth': 3},
        {'op': 'add', 'in': 'z', 'out': 'x', 'value': 2.0},
        {'op': 'normalize', 'in': 'z', 'out': 'x', 'mean': [0.5], 'std': [2.0]}]
    def mapped(op):
        return read(records, ['x'], 'y', **parsed, map=[op, *after, label])
    yield from of_types('op', ops, mapped, [('input_fns', 'train', 'map', 0)], commands=RUN_ONLY, values={
        'in': ['more', 'z2', 'y2'], 'dtype': ['int32', 'float64'], 'shape': [[4], [1, 2], [2, 1]], 'out': ['w']})
    for op in ops:
        job = mapped(op)
        job['input_fns']['train']['map'][0]['out'] = 'elsewhere'
        yield {'name': f"out of {op['op']}", 'job': job, 'focus': [('input_fns', 'train', 'map', 0)],
               'codes': range(10), 'commands': RUN_ONLY, 'values': {'out': ['x']}}
    bare = {'op': 'one_hot', 'in': 'y', 'out': 'x', 'depth': 3, 'dtype': 'int32'}
    yield flat('one_hot', read(records, ['x'], 'y', **parsed, map=[bare, label]), codes=range(10))
    integers = {'parse_example': {**parsed['parse_example'], 'z': {'type': 'VarLenFeature', 'dtype': 'int64'}}}
    yield flat('ragged integers', tabled(records, {'z': 4}, 'y', map=[label], **integers), codes=range(10))
    late = {**table, 'file_pattern': 'late.csv'}
    yield flat('csv late', tabled(late, {'a': 1}, 'y'), codes=range(10), values={
        'select_columns': [['y', 'a']], 'num_rows_for_inference': [1]})
    wordy = {**table, 'file_pattern': 'wordy.csv', 'column_names': ['y', 'a', 'b'], 'num_rows_for_inference': 3}
    yield flat('csv wordy', tabled(wordy, {'a': 1}, 'y'), codes=range(10), values={
        'select_columns': [['y', 'a']]})
    for errors in ({'policy': 'error', 'max_fraction': 0.5}, {'policy': 'skip', 'max_fraction': 0.0}):
        job = {**tabled(wordy, {'a': 1}, 'y'), 'tpuest': {'fsync': False, 'data_errors': errors}}
        yield {'name': f"data errors {errors['policy']}", 'job': job, 'focus': [('tpuest',)], 'codes': range(10)}
    job = job_of(use_tpu=False, tpuest__fold={'index': 1, 'count': 3})
    yield {'name': 'fold', 'job': job, 'focus': [('tpuest', 'fold')], 'commands': RUN_ONLY}
    other = {**parsed['parse_example'], 'missing': {'type': 'FixedLenFeature', 'shape': [4], 'dtype': 'float32',
                                                    'default_value': 7.0}}
    yield flat('parse', tabled(records, {'z': 4, 'missing': 4}, 'y', map=[label], **parsed),
               values={'input_fns.*.parse_example': [other]})
    odd = job_of(use_tpu=False, train_batch_size=3, input_fns__train__repeat=1, train_spec__max_steps=5)
    yield flat('remainder', odd, commands=RUN_ONLY)


def hook_fixtures():
    stop = {'metric_name': 'accuracy', 'run_every_secs': None, 'run_every_steps': 1}
    limits = [
        {'type': 'stop_if_higher_hook', 'threshold': 0.0}, {'type': 'stop_if_lower_hook', 'threshold': 1.5},
        {'type': 'stop_if_no_increase_hook', 'max_steps_without_increase': 2},
        {'type': 'stop_if_no_decrease_hook', 'max_steps_without_decrease': 2},
    ]
    hooks = [
        {'type': 'ProfilerHook', 'save_steps': 2}, {'type': 'StopAtStepHook', 'last_step': 5},
        {'type': 'StopAtStepHook', 'num_steps': 3},
        {'type': 'CheckpointSaverHook', 'save_steps': 3},
        {'type': 'LoggingTensorHook', 'tensors': ['loss', 'learning_rate'], 'every_n_iter': 2},
        {'type': 'StepCounterHook', 'every_n_steps': 2}, {'type': 'SummarySaverHook', 'save_steps': 2},
        {'type': 'NanTensorHook'}, {'type': 'ExecHook', 'on': ['begin'], 'command': ['touch', 'hooked']},
        *({**stop, **limit} for limit in limits),
    ]
    hooks += [
        {'type': 'LoggingTensorHook', 'tensors': ['loss'], 'every_n_secs': 1e-6},
        {'type': 'StepCounterHook', 'every_n_steps': None, 'every_n_secs': 1e-6},
        {'type': 'SummarySaverHook', 'save_secs': 1e-6},
        *({**stop, **limit, 'eval': 'a'} for limit in limits),
        *({**stop, **limit, 'run_every_secs': 1e-6, 'run_every_steps': None} for limit in limits),
        {**limits[2], 'metric_name': 'loss', 'run_every_secs': None, 'run_every_steps': 1},
        {**limits[3], 'metric_name': 'loss', 'run_every_secs': None, 'run_every_steps': 1},
    ]
    first_of = {hook['type']: i for i, hook in reversed(list(enumerate(hooks)))}
    for i, hook in enumerate(hooks):
        rate = -0.1 if hook.get('metric_name') == 'loss' and 'increase' in hook['type'] else 0.1
        job = job_of(train_spec__hooks=[hook], train_spec__max_steps=8, summaries=['loss'],
                     optimizer__learning_rate=rate)
        if 'eval' in hook:
            job['eval_spec'] = {name: job['eval_spec'] for name in ('a', 'b')}
        shows = {'shows': ('hook', hook['type'], 'type')} if first_of[hook['type']] == i else {}
        yield {'name': f"{hook['type']} {i}", 'job': job, 'focus': [('train_spec', 'hooks', 0)],
               'commands': RUN_ONLY, **shows}
    nan = job_of(train_spec__hooks=[{'type': 'NanTensorHook', 'fail_on_nan_loss': False}], optimizer__learning_rate=1e38)
    yield {'name': 'nan', 'job': nan, 'focus': [('train_spec', 'hooks', 0)], 'commands': [['train']], 'codes': range(10)}
    failing = {'type': 'ExecHook', 'on': ['begin'], 'command': ['false']}
    yield {'name': 'failing', 'job': job_of(train_spec__hooks=[failing]), 'focus': [('train_spec', 'hooks', 0)],
           'commands': RUN_ONLY, 'codes': range(10)}
    for command in ('touch', 'false'):
        listener = {'type': 'CheckpointSaverListener', 'after_save': [command, 'heard']}
        yield {'name': f'listener {command}', 'job': job_of(train_spec__saving_listeners=[listener]),
               'focus': [('train_spec', 'saving_listeners', 0)], 'commands': RUN_ONLY, 'codes': range(10),
               'shows': ('listener', 'CheckpointSaverListener', 'type')}


def export_fixtures():
    exporters = [{'type': 'LatestExporter', 'name': 'kept', 'exports_to_keep': 3},
                 {'type': 'BestExporter', 'name': 'kept', 'exports_to_keep': 3,
                  'compare': {'metric': 'loss', 'mode': 'min'}}, {'type': 'FinalExporter', 'name': 'kept'}]
    yield from of_types('exporter', exporters, lambda s: job_of(eval_spec__exporters=[s], train_spec__max_steps=8),
                        [('eval_spec', 'exporters', 0)], commands=RUN_ONLY)
    receivers = [{'type': f'build_{kind}_serving_input_receiver_fn'} for kind in ('parsing', 'raw')]
    yield from of_types('receiver', [*receivers, {'type': 'both'}],
                        lambda s: job_of(export__serving_input_receiver_fn=s),
                        [('export', 'serving_input_receiver_fn')])
    batches = {'num_batch_threads': 2, 'max_batch_size': 8, 'batch_timeout_micros': 100,
               'allowed_batch_sizes': [4, 8], 'max_enqueued_batches': 5}
    yield {'name': 'batches', 'job': job_of(export__batch_config={**batches, 'allowed_batch_sizes': []},
                                            export_saved_model_api_version=2), 'focus': [('export',)]}
    yield {'name': 'export', 'job': job_of(export__batch_config=batches, export_saved_model_api_version=2), 'focus': [('export',)]}


def run_fixtures():
    yield {'name': 'run', 'job': job_of(params={'rate': 0.1}, optimizer__learning_rate='${params.rate}',
                                        summaries=['loss'])}
    named = job_of()
    named['run_config']['model_dir'] = 'runs/${name}'
    yield {'name': 'named', 'job': named, 'focus': [('name',)]}
    sliced = job_of(use_tpu=False)
    sliced['run_config']['tpu_config']['eval_training_input_configuration'] = 'SLICED'
    yield {'name': 'sliced', 'job': sliced, 'focus': [('run_config', 'tpu_config')], 'codes': range(10),
           'values': {'run_config.tpu_config.eval_training_input_configuration': ['PER_HOST_V1']}}
    yield {'name': 'whole batches', 'job': job_of(predict__yield_single_examples=False), 'focus': [('predict_batch_size',)]}
    yield {'name': 'host calls', 'focus': [('run_config', 'tpu_config')], 'job': job_of(
        run_config__tpu_config={'iterations_per_loop': 4, 'num_shards': 2}, summaries=['loss'], train_spec__max_steps=8)}
    yield {'name': 'broadcast', 'focus': [('run_config', 'tpu_config')], 'codes': range(10), 'job': job_of(
        run_config__tpu_config={'iterations_per_loop': 1, 'num_shards': 2, 'per_host_input_for_training': 'BROADCAST'}),
        'values': {'run_config.tpu_config.per_host_input_for_training': [True]}}
    yield {'name': 'mode', 'job': job_of(mode='train'), 'focus': [('mode',)], 'commands': [['run']]}
    yield {'name': 'rows', 'focus': [()], 'job': with_rows(
        job_of(), list(ROWS), ['x'], 'y', ROWS), 'values': {
            'input_fns.*.labels': ['yes'], 'input_fns.*.features': [['z']],
            'input_fns.*.map': [[{'op': 'rescaling', 'in': 'x', 'scale': 2.0}]], 'source.values': [{'x': X[::-1], 'y': ROWS['y']}],
            'values': [{'x': X[::-1], 'y': ROWS['y']}], 'train_spec.input_fn': ['test'], 'eval_spec.input_fn': ['train'],
            'input_fns.*.source': [{'type': 'from_tensor_slices', 'values': {'x': X[::-1], 'y': ROWS['y']}}]}}
    steps = job_of(train_spec={'input_fn': 'train', 'steps': 4})
    yield {'name': 'steps', 'job': steps, 'focus': [('train_spec',)]}
    seconds = job_of(run_config__save_checkpoints_steps=None, run_config__save_checkpoints_secs=600)
    yield {'name': 'seconds', 'job': seconds, 'focus': [('run_config',)]}
    square = job_of(batch_axis=[1, 0], model__layers=[{'type': 'transpose', 'perm': [1, 0]}, {'type': 'dense', 'units': 3}])
    square = with_rows(square, ['x', 'y'], ['x'], 'y', {**ROWS, 'x': TABLE['weights']})
    yield {'name': 'batch_axis', 'job': square, 'focus': [('batch_axis',)], 'commands': RUN_ONLY,
           'values': {'batch_axis': [None, [0, 0]]}}
    square = copy.deepcopy(square)
    square['run_config']['tpu_config']['per_host_input_for_training'] = 'PER_HOST_V2'
    yield {'name': 'batch_axis of hosts', 'job': square, 'focus': [('run_config',)], 'commands': RUN_ONLY, 'codes': range(10)}
    yield from warm_start_fixtures()
    spread = job_of(use_tpu=False, run_config__eval_distribute={'type': 'ParameterServerStrategy', 'num_replicas': 2})
    yield {'name': 'evaluation spread', 'job': spread, 'focus': [('run_config',)], 'codes': range(10),
           'values': {'run_config.eval_distribute.type': ['MirroredStrategy']}}
    keep = {'metric': 'loss', 'mode': 'min', 'n': 1, 'eval': None}
    yield {'name': 'keep_best', 'job': job_of(run_config__keep_best=keep, run_config__keep_checkpoint_max=1,
                                              train_spec__max_steps=8), 'focus': [('run_config',)]}
    yield {'name': 'shuffled', 'job': job_of(input_fns__train__shuffle={'buffer_size': 3, 'seed': 3}, train_spec__max_steps=8),
           'focus': [('input_fns', 'train')]}
    yield {'name': 'one process', 'job': job_of(use_tpu=False, run_config__train_distribute={
        'type': 'MirroredStrategy', 'num_replicas': 2}, run_config__eval_distribute={
            'type': 'MirroredStrategy', 'num_replicas': 2}), 'focus': [('run_config',)]}
    yield {'name': 'named evaluations', 'job': job_of(eval_spec={
        'a': {'input_fn': 'test', 'steps': 1}, 'b': {'input_fn': 'train', 'steps': 1}}), 'focus': [('eval_spec',)]}
    best = job_of(run_config__keep_best={**keep, 'eval': 'a'}, train_spec__max_steps=8, eval_spec={
        'a': {'input_fn': 'test', 'steps': 1}, 'b': {'input_fn': 'train', 'steps': 1}})
    wrong = {'type': 'from_tensor_slices', 'values': {'x': X, 'y': [2, 0, 1, 2, 0, 1, 2, 0]}}
    best['input_fns']['wrong'] = {**best['input_fns']['test'], 'source': wrong}
    best['eval_spec']['b']['input_fn'] = 'wrong'
    yield {'name': 'best of named', 'job': best, 'focus': [('run_config', 'keep_best')]}


def warm_start_fixtures():
    def job(**settings):
        return {**DEEP, 'warm_start_from': {'ckpt_to_initialize_from': 'first', **settings}}
    vocabulary = {'new_vocab': 'words2.txt', 'new_vocab_size': 2, 'num_oov_buckets': 1, 'old_vocab': 'words.txt',
                  'backup_initializer': {'type': 'zeros'}, 'axis': 1}
    values = {'warm_start_from.ckpt_to_initialize_from': ['second'], 'warm_start_from': ['first'],
              'warm_start_from.vars_to_warm_start': ['dense/bias'],
              'warm_start_from.var_name_to_prev_var_name': [{'dense/kernel': 'dense_1/kernel'}],
              **{f'warm_start_from.var_name_to_vocab_info.*.{key}': tried for key, tried in {
                  'new_vocab': ['words.txt'], 'old_vocab': ['words2.txt'], 'backup_initializer': ['ones'],
                  'axis': [0], 'new_vocab_size': [3, 1], 'num_oov_buckets': [2], 'old_vocab_size': [2]}.items()}}
    common = {'focus': [('warm_start_from',)], 'values': values, 'setup': 'trained', 'codes': range(10)}
    yield {'name': 'cold', 'job': DEEP, **common}
    yield {'name': 'warm', 'job': job(), **common}
    words = {'dense_2/kernel': vocabulary}
    yield {'name': 'words', 'job': job(var_name_to_vocab_info=words, on_mismatch='skip'), **common}
    for key, wrong, right in (('new_vocab_size', 3, 2), ('num_oov_buckets', 2, 1), ('axis', 0, 1)):
        wrong = {'dense_2/kernel': {**vocabulary, key: wrong}}
        yield {'name': f'words of another {key}', 'job': job(var_name_to_vocab_info=wrong), **common,
               'values': {f'warm_start_from.var_name_to_vocab_info.*.{key}': [right]}}
    mismatch = job()
    mismatch['model'] = {**DEEP['model'], 'layers': [{'type': 'dense', 'units': 16}, {'type': 'dense', 'units': 5},
                                                     {'type': 'dense', 'units': 3}]}
    yield {'name': 'mismatch', 'job': mismatch, **common}


def saved_model_fixtures():
    commands = [['evaluate', '--json'], ['predict', '--limit', '3']]
    def job(label='y', **model):
        made = with_rows(job_of(), ['x', 'w', label], ['x', 'w'], label, ROWS)
        del made['optimizer'], made['train_spec']
        return {**made, 'model': {'type': 'saved_model', 'path': 'model', **model}}

    def fixture(name, made, **more):
        return {'name': f'saved_model {name}', 'job': made, 'setup': 'exported', 'focus': [('model',)],
                'commands': commands, 'codes': range(10), **more}

    classes = {'type': 'MultiClassHead', 'n_classes': 3}
    numbers = {'type': 'mean_squared_error', 'prediction': 'logits', 'label_dimension': 3}
    yield fixture('classes', job(head=classes), shows=('model', 'saved_model', 'type'), values={
        'logits': ['probabilities'], 'head': [{**classes, 'label_smoothing': 0.1}]})
    yield fixture('numbers', job('tags', head=numbers))
    yield fixture('one number', job('tags', head={**numbers, 'label_dimension': 1}), values={'label_dimension': [3]})
    yield fixture('elsewhere', job(path='nowhere'), values={'path': ['model']})
    yield fixture('signature', job(signature='none', head=classes), values={'signature': ['predict']})
    made = job(path=FROZEN, inputs={'x': 'net/x:0'}, outputs={'y': 'net/mul:0'})
    made = with_rows(made, ['x', 'y'], ['x'], 'y', {'x': [row[:4] for row in X], 'y': ROWS['y']})
    for key, wrong, right in (('inputs', {'x': 'none:0'}, {'x': 'net/x:0'}), ('outputs', {'y': 'none:0'}, {'y': 'net/mul:0'})):
        yield fixture(key, {**made, 'model': {**made['model'], key: wrong}}, values={key: [right]},
                      commands=commands[1:])


def fixtures():
    """All jobs: each with a name, the places whose keys are tried in it, and its commands."""
    yield from run_fixtures()
    yield from input_fixtures()
    yield from saved_model_fixtures()
    yield from model_fixtures()
    yield from feature_column_fixtures()
    yield from optimizer_fixtures()
    yield from hook_fixtures()
    yield from export_fixtures()


DEEP = job_of(model__layers=[{'type': 'dense', 'units': 16}, {'type': 'dense', 'units': 16}, {'type': 'dense', 'units': 3}])

# What is run before a fixture, for the files that it needs: jobs, and what is done with them.
EXPORTED = 'run/export/*'  # is moved to `model`
SETUPS = {'trained': [(DEEP, ['train', 'setup.yaml', '--model-dir', name, f'run_config.tf_random_seed={seed}'])
                      for name, seed in (('first', 1), ('second', 2))],
          'exported': [(DEEP, ['train', 'setup.yaml', '-q']), (DEEP, ['export', 'setup.yaml', '-q'])]}
