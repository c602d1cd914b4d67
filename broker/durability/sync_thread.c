/* A thread that syncs one file, or one file system, at a time and never runs Python.
 *
 * A thread of Python needs the interpreter's lock before a sync, to begin it, and behind
 * it, to tell the loop. The loop's thread has it then, and is at work: each time one of
 * them waits for the other. This thread is told the descriptor's number under a lock of
 * its own, and tells the loop by an eventfd.
 *
 * Invariants: there is at most one sync that was begun and whose result was not taken.
 * `lock` is never held during a system call that waits. Whoever calls `begin` keeps the
 * descriptor open until he has taken the result.
 */
#ifndef __linux__
#error "eventfd is Linux's; elsewhere the threads of Python do it"
#endif

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NAME "odradek.broker.durability.sync_thread"

typedef struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_asked;       /* there is a sync to be done, or under way */
    int is_done;        /* its result is there, and not taken */
    int is_closing;     /* no other will come */
    int has_ended;      /* the thread was joined */
    int number;         /* of the descriptor to be synced */
    int is_file_system; /* all of the file system that it is in, not the file alone */
    int told;           /* the eventfd that gets readable with the result */
    int error;          /* errno, or 0 */
    double seconds;
} Syncer;

static double
seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void
tell(int told)
{
    const uint64_t one = 1;
    while (write(told, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

static void *
work(void *argument)
{
    Syncer *syncer = argument;
    pthread_mutex_lock(&syncer->lock);
    for (;;) {
        while (!syncer->is_asked && !syncer->is_closing) {
            pthread_cond_wait(&syncer->changed, &syncer->lock);
        }
        if (!syncer->is_asked) {
            break;
        }
        const int number = syncer->number;
        const int is_file_system = syncer->is_file_system;
        pthread_mutex_unlock(&syncer->lock);
        const double began = seconds_now();
        int result;
        do { /* as os.fdatasync does it */
            result = is_file_system ? syncfs(number) : fdatasync(number);
        } while (result < 0 && errno == EINTR);
        const int error = result < 0 ? errno : 0;
        const double seconds = seconds_now() - began;
        pthread_mutex_lock(&syncer->lock);
        syncer->error = error;
        syncer->seconds = seconds;
        syncer->is_asked = 0;
        syncer->is_done = 1;
        tell(syncer->told); /* an eventfd takes it without waiting */
    }
    pthread_mutex_unlock(&syncer->lock);
    return NULL;
}

static void
end(Syncer *syncer)
{
    if (syncer->has_ended) {
        return;
    }
    pthread_mutex_lock(&syncer->lock);
    syncer->is_closing = 1;
    pthread_cond_signal(&syncer->changed);
    pthread_mutex_unlock(&syncer->lock);
    pthread_join(syncer->thread, NULL);
    syncer->has_ended = 1;
}

static void
destroy(PyObject *capsule)
{
    Syncer *syncer = PyCapsule_GetPointer(capsule, NAME);
    if (syncer == NULL) {
        return;
    }
    end(syncer);
    close(syncer->told);
    pthread_cond_destroy(&syncer->changed);
    pthread_mutex_destroy(&syncer->lock);
    free(syncer);
}

static PyObject *
start(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(nothing))
{
    Syncer *syncer = calloc(1, sizeof *syncer);
    if (syncer == NULL) {
        return PyErr_NoMemory();
    }
    syncer->told = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (syncer->told < 0) {
        free(syncer);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    pthread_mutex_init(&syncer->lock, NULL);
    pthread_cond_init(&syncer->changed, NULL);
    /* Signals are the interpreter's: none may interrupt this thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&syncer->thread, NULL, work, syncer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    PyObject *capsule = NULL;
    if (error) {
        errno = error;
        PyErr_SetFromErrno(PyExc_OSError);
        syncer->has_ended = 1;
    } else {
        capsule = PyCapsule_New(syncer, NAME, destroy);
    }
    if (capsule == NULL) {
        end(syncer);
        close(syncer->told);
        free(syncer);
    }
    return capsule;
}

static PyObject *
fileno_of(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    const Syncer *syncer = PyCapsule_GetPointer(capsule, NAME);
    return syncer == NULL ? NULL : PyLong_FromLong(syncer->told);
}

static PyObject *
begin(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *capsule;
    int number, is_file_system;
    if (!PyArg_ParseTuple(arguments, "Oip:begin", &capsule, &number, &is_file_system)) {
        return NULL;
    }
    Syncer *syncer = PyCapsule_GetPointer(capsule, NAME);
    if (syncer == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&syncer->lock);
    const int is_free =
        !syncer->is_asked && !syncer->is_done && !syncer->is_closing;
    if (is_free) {
        syncer->number = number;
        syncer->is_file_system = is_file_system;
        syncer->is_asked = 1;
        pthread_cond_signal(&syncer->changed);
    }
    pthread_mutex_unlock(&syncer->lock);
    if (!is_free) {
        PyErr_SetString(PyExc_RuntimeError, "the thread has a sync, or has ended");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
take(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    Syncer *syncer = PyCapsule_GetPointer(capsule, NAME);
    if (syncer == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&syncer->lock);
    const int is_done = syncer->is_done, error = syncer->error;
    const double seconds = syncer->seconds;
    if (is_done) {
        uint64_t count;
        while (read(syncer->told, &count, sizeof count) < 0 && errno == EINTR) {
        }
        syncer->is_done = 0;
    }
    pthread_mutex_unlock(&syncer->lock);
    if (!is_done) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("id", error, seconds);
}

static PyObject *
stop(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    Syncer *syncer = PyCapsule_GetPointer(capsule, NAME);
    if (syncer == NULL) {
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    end(syncer);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_NOARGS,
     "start()\n--\n\nA thread, to be given to the other functions."},
    {"fileno", fileno_of, METH_O,
     "fileno(thread, /)\n--\n\nWhat gets readable when there is a result to take."},
    {"begin", begin, METH_VARARGS,
     "begin(thread, number, is_file_system, /)\n--\n\n"
     "Sync the file behind a descriptor, or all of the file system that it is in.\n"
     "It must stay open until ``take``."},
    {"take", take, METH_O,
     "take(thread, /)\n--\n\n"
     "The errno of the sync, or 0, and its seconds; None while it is under way."},
    {"stop", stop, METH_O,
     "stop(thread, /)\n--\n\nEnd the thread, behind the sync that it may be in."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = NAME,
    .m_doc = "A thread that syncs and never runs Python.",
    .m_size = 0,
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_sync_thread(void)
{
    return PyModuleDef_Init(&definition);
}
